#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/stat.h>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/places.hpp"
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
                fmt::format("mt4g's format has one GPU a file and there are {}: name a folder that exists as OUT",
                            gpus.size()));
  return exchange::mt4g_text(gpus.front());
}

bool is_folder(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// The GPUs, and the files that they were read from.
struct Exported {
  std::vector<Topology> gpus;
  std::vector<std::string> files;
};

Output output_to(const std::string& path, const char* option) {
  return {"the export", option, path};
}

Expected<void> write_one(const std::string& out, Convert convert, const std::vector<Topology>& gpus, Remarks& remarks) {
  const auto text = convert(gpus, remarks);
  if (!text) return tl::unexpected<Error>(text.error());
  return emit(out, *text);
}

// A GPU without a usable UUID in its file must not lead out of the folder.
Expected<std::vector<std::string>> places_in(const std::string& folder, const Exported& exported) {
  std::vector<std::string> places;
  for (std::size_t i = 0; i < exported.gpus.size(); ++i) {
    const std::string& uuid = exported.gpus[i].gpu.uuid;
    std::string path = fmt::format("{}/{}.json", folder, store::is_uuid(uuid) ? uuid : fmt::format("gpu{}", i));
    if (auto ok = check_places({output_to(path, "--mt4g")}, exported.files); !ok)
      return tl::unexpected<Error>(ok.error());
    if (const auto other = std::find(places.begin(), places.end(), path); other != places.end())
      return fail(Error::Kind::bad_input,
                  fmt::format("GPUs {} and {} have one UUID and would be one file, '{}'; leave one of them out",
                              other - places.begin(), i, path));
    places.push_back(std::move(path));
  }
  return places;
}

// One that the format can't say doesn't take the others with it.
Expected<Exit> write_each(const std::string& folder, Convert convert, const Exported& exported, Remarks& remarks) {
  const auto places = places_in(folder, exported);
  if (!places) return tl::unexpected<Error>(places.error());
  std::vector<std::string> left_out;
  for (std::size_t i = 0; i < places->size(); ++i) {
    const auto written = write_one((*places)[i], convert, {exported.gpus[i]}, remarks);
    if (written) continue;
    if (written.error().kind != Error::Kind::bad_input || places->size() == 1)
      return tl::unexpected<Error>(written.error());
    left_out.push_back(fmt::format("GPU {} is left out: {}", i, written.error().message));
  }
  if (left_out.size() == places->size())
    return fail(Error::Kind::bad_input,
                fmt::format("none of the GPUs could be written: {}", fmt::join(left_out, "; ")));
  for (const std::string& line : left_out) remarks.add("gputopo: " + line);
  return left_out.empty() ? Exit::done : Exit::failed;
}

Expected<Exported> exported_topologies(const std::vector<std::string>& files, Remarks& remarks) {
  if (files.empty())
    return stored_topologies("export", remarks).map([](StoredGpus stored) {
      return Exported{std::move(stored.topologies), std::move(stored.files)};
    });
  return read_topology_files(files, "export", remarks).map([&files](FromFiles read) {
    return Exported{std::move(read.topologies), files};
  });
}

Expected<Exit> export_as(const std::string& out, const char* option, Convert convert,
                         const std::vector<std::string>& files, Remarks& remarks) {
  if (auto ok = check_places({output_to(out, option)}, files); !ok) return tl::unexpected<Error>(ok.error());
  const auto exported = exported_topologies(files, remarks);
  if (!exported) return tl::unexpected<Error>(exported.error());
  if (auto ok = check_places({output_to(out, option)}, exported->files); !ok) return tl::unexpected<Error>(ok.error());
  if (auto written = write_one(out, convert, exported->gpus, remarks); !written)
    return tl::unexpected<Error>(written.error());
  return Exit::done;
}

Expected<Exit> run_export(const ExportFlags& flags, Remarks& remarks) {
  if (flags.hwloc_xml) return export_as(*flags.hwloc_xml, "--hwloc-xml", as_hwloc_xml, flags.files, remarks);
  if (flags.prometheus) return export_as(*flags.prometheus, "--prometheus", as_prometheus, flags.files, remarks);
  if (!is_folder(*flags.mt4g)) return export_as(*flags.mt4g, "--mt4g", as_mt4g, flags.files, remarks);
  const auto exported = exported_topologies(flags.files, remarks);
  if (!exported) return tl::unexpected<Error>(exported.error());
  return write_each(*flags.mt4g, as_mt4g, *exported, remarks);
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
