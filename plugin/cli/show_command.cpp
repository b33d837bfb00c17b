#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/format_option.hpp"
#include "cli/output.hpp"
#include "cli/stored.hpp"
#include "files/files.hpp"
#include "report/report.hpp"
#include "topology/json.hpp"

namespace gputopo::cli {
namespace {

constexpr std::size_t topology_limit_bytes = std::size_t{16} << 20;

struct ShowFlags {
  std::string file;
  std::string format;
  std::string output;
  bool all = false;
};

Expected<std::vector<Topology>> load(const std::string& path) {
  const auto text = files::read_file(path, topology_limit_bytes);
  if (!text) return tl::unexpected<Error>(text.error());
  auto topology = parse_topology(*text);
  if (!topology)
    return fail(topology.error().kind,
                fmt::format("can't show '{}': {}; write one with 'gputopo discover --format json'", path,
                            topology.error().message));
  std::vector<Topology> list;
  list.push_back(std::move(*topology));
  return list;
}

Expected<Exit> show(const ShowFlags& flags, const Context& context) {
  if (auto ok = check_output(flags.output); !ok) return tl::unexpected<Error>(ok.error());
  const auto topologies = flags.file.empty() ? stored_topologies() : load(flags.file);
  if (!topologies) return tl::unexpected<Error>(topologies.error());
  const std::string text = renderer(flags.format)(*topologies, report_options(context, flags.output, flags.all));
  if (auto written = emit(flags.output, text); !written) return tl::unexpected<Error>(written.error());
  return Exit::done;
}

}  // namespace

void add_show_command(CLI::App& app, Context& context) {
  auto flags = std::make_shared<ShowFlags>();
  CLI::App* command = app.add_subcommand("show", "Print the stored topology of this machine's GPUs, or that in a file");
  command->add_option("FILE", flags->file, "A topology written by discover --format json");
  command->add_flag("--all", flags->all, "Everything that is known, not the main table alone");
  add_format_option(*command, flags->format);
  add_output_option(*command, flags->output);
  command->callback([flags, &context] { context.action = [=, &context] { return show(*flags, context); }; });
}

}  // namespace gputopo::cli
