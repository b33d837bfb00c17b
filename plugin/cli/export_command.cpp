#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/stat.h>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/stored.hpp"
#include "cli/topology_files.hpp"
#include "exchange/mt4g.hpp"
#include "exchange/prometheus.hpp"
#include "hwloc_export/xml.hpp"
#include "report/legible.hpp"
#include "store/store.hpp"

namespace gputopo::cli {
namespace {

struct ExportFlags {
  std::optional<std::string> hwloc_xml, mt4g, prometheus;  // where to write what was asked for
  std::vector<std::string> files;
};

using Convert = Expected<std::string> (*)(const std::vector<Topology>& gpus, Remarks& remarks);

Expected<std::string> as_hwloc_xml(const std::vector<Topology>& gpus, Remarks& remarks) {
  auto xml = hwloc_export::machine_xml(gpus);
  if (!xml) return tl::unexpected<Error>(xml.error());
  for (std::string& note : xml->notes) remarks.add(std::move(note));
  return std::move(xml->text);
}

Expected<std::string> as_prometheus(const std::vector<Topology>& gpus, Remarks& /*remarks*/) {
  std::vector<Topology> shown;
  for (const Topology& gpu : gpus) shown.push_back(report::legible(gpu));
  return exchange::prometheus_text(shown);
}

Expected<std::string> as_mt4g(const std::vector<Topology>& gpus, Remarks& /*remarks*/) {
  if (gpus.size() > 1)
    return fail(Error::Kind::bad_input,
                fmt::format("mt4g's format has one GPU a file and there are {}: name a folder as OUT", gpus.size()));
  return exchange::mt4g_text(gpus.front());
}

bool is_folder(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

Expected<void> write_one(const std::string& out, Convert convert, const std::vector<Topology>& gpus, Remarks& remarks) {
  if (auto ok = check_output(out); !ok) return ok;
  const auto text = convert(gpus, remarks);
  if (!text) return tl::unexpected<Error>(text.error());
  return emit(out, *text);
}

// A GPU without a usable UUID in its file must not lead out of the folder. One that the format can't say doesn't take
// the others with it.
Expected<Exit> write_each(const std::string& folder, Convert convert, const std::vector<Topology>& gpus,
                          Remarks& remarks) {
  std::vector<std::string> left_out;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const std::string& uuid = gpus[i].gpu.uuid;
    const std::string name = store::is_uuid(uuid) ? uuid : fmt::format("gpu{}", i);
    const auto written = write_one(fmt::format("{}/{}.json", folder, name), convert, {gpus[i]}, remarks);
    if (written) continue;
    if (written.error().kind != Error::Kind::bad_input || gpus.size() == 1)
      return tl::unexpected<Error>(written.error());
    left_out.push_back(fmt::format("GPU {} is left out: {}", i, written.error().message));
  }
  if (left_out.size() == gpus.size())
    return fail(Error::Kind::bad_input,
                fmt::format("none of the GPUs could be written: {}", fmt::join(left_out, "; ")));
  for (const std::string& line : left_out) remarks.add("gputopo: " + line);
  return left_out.empty() ? Exit::done : Exit::failed;
}

Expected<std::vector<Topology>> exported_topologies(const std::vector<std::string>& files, Remarks& remarks) {
  if (files.empty())
    return stored_topologies(remarks).map([](StoredGpus stored) { return std::move(stored.topologies); });
  return read_topology_files(files, "export", remarks).map([](FromFiles read) { return std::move(read.topologies); });
}

Expected<Exit> run_export(const ExportFlags& flags, Remarks& remarks) {
  const auto gpus = exported_topologies(flags.files, remarks);
  if (!gpus) return tl::unexpected<Error>(gpus.error());
  Expected<void> written;
  if (flags.hwloc_xml) written = write_one(*flags.hwloc_xml, as_hwloc_xml, *gpus, remarks);
  if (flags.prometheus) written = write_one(*flags.prometheus, as_prometheus, *gpus, remarks);
  if (flags.mt4g && is_folder(*flags.mt4g)) return write_each(*flags.mt4g, as_mt4g, *gpus, remarks);
  if (flags.mt4g) written = write_one(*flags.mt4g, as_mt4g, *gpus, remarks);
  if (!written) return tl::unexpected<Error>(written.error());
  return Exit::done;
}

}  // namespace

void add_export_command(CLI::App& app, Context& context) {
  auto flags = std::make_shared<ExportFlags>();
  CLI::App* command = app.add_subcommand("export", "Write the GPUs' memories for programs that read other formats");
  CLI::Option_group* formats = command->add_option_group("Formats", "What to write; - is stdout");
  formats->add_option("--hwloc-xml", flags->hwloc_xml, "This machine's hwloc topology with the GPUs in it")
      ->type_name("OUT");
  formats
      ->add_option("--mt4g", flags->mt4g,
                   "One GPU as mt4g 1.x writes it, for sys-sage; in a folder, each GPU by its UUID")
      ->type_name("OUT.json|FOLDER");
  formats->add_option("--prometheus", flags->prometheus, "Metrics for node_exporter's text files")
      ->type_name("OUT.prom");
  formats->require_option(1);
  command->add_option(
      "FILE", flags->files,
      "Topologies written by discover --format json, in place of the stored ones of this machine's GPUs");
  command->callback(
      [flags, &context] { context.action = [=, &context] { return run_export(*flags, context.remarks); }; });
}

}  // namespace gputopo::cli
