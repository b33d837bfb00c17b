#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/stored.hpp"
#include "files/files.hpp"
#include "hwloc_export/xml.hpp"
#include "topology/json.hpp"

namespace gputopo::cli {
namespace {

constexpr std::size_t topology_limit_bytes = std::size_t{16} << 20;

struct ExportFlags {
  std::string xml;
  std::vector<std::string> files;
};

Expected<std::vector<Topology>> read(const std::vector<std::string>& paths) {
  std::vector<Topology> list;
  for (const std::string& path : paths) {
    const auto text = files::read_file(path, topology_limit_bytes);
    if (!text) return tl::unexpected<Error>(text.error());
    auto topology = parse_topology(*text);
    if (!topology)
      return fail(topology.error().kind,
                  fmt::format("can't export '{}': {}; write one with 'gputopo discover --format json'", path,
                              topology.error().message));
    list.push_back(std::move(*topology));
  }
  return list;
}

Expected<Exit> export_xml(const ExportFlags& flags) {
  const std::string path = flags.xml == "-" ? std::string() : flags.xml;
  if (auto ok = check_output(path); !ok) return tl::unexpected<Error>(ok.error());
  const auto topologies = flags.files.empty() ? stored_topologies() : read(flags.files);
  if (!topologies) return tl::unexpected<Error>(topologies.error());
  const auto xml = hwloc_export::machine_xml(*topologies);
  if (!xml) return tl::unexpected<Error>(xml.error());
  for (const std::string& note : xml->notes)
    static_cast<void>(files::write_all(STDERR_FILENO, note + "\n", "standard error"));
  if (auto written = emit(path, xml->text); !written) return tl::unexpected<Error>(written.error());
  return Exit::done;
}

}  // namespace

void add_export_command(CLI::App& app, Context& context) {
  auto flags = std::make_shared<ExportFlags>();
  CLI::App* command = app.add_subcommand("export", "Write the GPUs' memories for programs that read other formats");
  command->add_option("--hwloc-xml", flags->xml, "This machine's hwloc topology with the GPUs in it; - is stdout")
      ->type_name("OUT")
      ->required();
  command->add_option(
      "FILE", flags->files,
      "Topologies written by discover --format json, in place of the stored ones of this machine's GPUs");
  command->callback([flags, &context] { context.action = [=] { return export_xml(*flags); }; });
}

}  // namespace gputopo::cli
