#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "catalog/catalog.hpp"
#include "cli/commands.hpp"
#include "cli/counters.hpp"
#include "cli/device_option.hpp"
#include "cli/format_option.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/verdict.hpp"
#include "device/open/open.hpp"
#include "device/replay/recording_device.hpp"
#include "experiments/discover.hpp"
#include "files/files.hpp"
#include "report/report.hpp"
#include "store/environment.hpp"
#include "store/store.hpp"

namespace gputopo::cli {
namespace {

struct DiscoverFlags {
  std::string device = "auto";
  std::vector<std::string> only;
  bool all = false;
  std::string format;
  std::string output;
  std::string record;
  bool save = false;
  bool verify = false;
  std::string method = "default";
  std::uint64_t seed = 1;
  bool quiet = false;
};

std::string check_memory_id(const std::string& id) {
  if (catalog::find_memory(id) != nullptr) return {};
  std::vector<std::string_view> known;
  for (const catalog::MemoryRow& row : catalog::memories()) known.push_back(row.id);
  return fmt::format("unknown memory '{}', choose from {}", id, fmt::join(known, ", "));
}

Expected<Topology> measure(device::Device& device, const DiscoverFlags& flags, const Context& context) {
  ProgressBar bar(context.stderr_is_terminal && !flags.quiet);
  experiments::DiscoverOptions options;
  options.only = flags.only;
  options.method = flags.method == "thesis" ? experiments::Method::thesis : experiments::Method::standard;
  options.seed = flags.seed;
  options.stop = context.stop;
  options.progress = [&bar](double done, std::string_view label) { bar.show(done, label); };
  return experiments::discover(device, options);
}

Expected<Topology> measure_and_record(device::Device& device, const DiscoverFlags& flags, const Context& context) {
  if (flags.record.empty()) return measure(device, flags, context);
  replay::RecordingDevice recorder(device);
  auto topology = measure(recorder, flags, context);
  if (topology)
    if (auto saved = recorder.save(flags.record); !saved) return tl::unexpected<Error>(saved.error());
  return topology;
}

// Counters are a second opinion: without them the topology stands as it is, and says so.
Expected<void> verify(device::Device& device, const device::Spec& spec, const DiscoverFlags& flags,
                      const Context& context, Topology& topology) {
  auto counter = open_counter_of(device, spec);
  if (!counter) {
    topology.provenance.notes.push_back("not checked against counters: " + counter.error().message);
    say_loudly("not checked against counters: " + counter.error().message);
    return {};
  }
  ProgressBar bar(context.stderr_is_terminal && !flags.quiet);
  experiments::DiscoverOptions options;
  options.seed = flags.seed;
  options.stop = context.stop;
  options.progress = [&bar](double done, std::string_view label) { bar.show(done, label); };
  const auto report = experiments::cross_check(device, **counter, topology, options);
  bar.clear();
  if (!report) {
    if (report.error().kind == Error::Kind::interrupted) return tl::unexpected<Error>(report.error());
    topology.provenance.notes.push_back("not checked against counters: " + report.error().message);
    say_loudly("not checked against counters: " + report.error().message);
    return {};
  }
  if (const std::string failed = failed_memories(topology, *report); !failed.empty())
    say_loudly(fmt::format("counters contradict timing for {}; docs/counters.md tells how to read that", failed));
  experiments::apply(*report, topology);
  return {};
}

void say(const std::string& line) {
  static_cast<void>(files::write_all(2, line + "\n", "standard error"));
}

Expected<Exit> discover(const DiscoverFlags& flags, const device::Spec& spec, const Context& context) {
  for (const std::string& path : {flags.output, flags.record})
    if (auto ok = check_output(path); !ok) return tl::unexpected<Error>(ok.error());
  auto opened = device::open(spec, open_options(context, flags.quiet));
  if (!opened) return tl::unexpected<Error>(opened.error());
  if (flags.save && opened->device->info().simulated)
    return fail(Error::Kind::bad_input,
                "--save keeps real GPUs alone and this one is simulated; use -o FILE, or choose a GPU by --device");
  if (flags.format != "table" && !flags.quiet) say(opened->headline);
  auto topology = measure_and_record(*opened->device, flags, context);
  if (!topology) return tl::unexpected<Error>(topology.error());
  if (flags.verify)
    if (auto ok = verify(*opened->device, spec, flags, context, *topology); !ok)
      return tl::unexpected<Error>(ok.error());
  if (flags.save) {
    const auto saved = store::save(*topology, store::process_environment());
    if (!saved) return tl::unexpected<Error>(saved.error());
    if (!flags.quiet) say("saved as " + *saved);
  }
  report::Options options = report_options(context, flags.output, flags.all);
  options.headline = opened->headline;
  const std::string text = renderer(flags.format)({&*topology, 1}, options);
  if (auto written = emit(flags.output, text); !written) return tl::unexpected<Error>(written.error());
  return verdict(*topology);
}

}  // namespace

void add_discover_command(CLI::App& app, Context& context) {
  auto flags = std::make_shared<DiscoverFlags>();
  auto spec = std::make_shared<device::Spec>();
  CLI::App* command = app.add_subcommand("discover", "Measure a GPU and print its memories");
  add_device_option(*command, flags->device, spec, "auto, cuda:N, sim:NAME, sim:FILE.json or replay:FILE");
  command->add_flag("--all", flags->all, "Print everything: every carve-out, who shares what, the map of the chip");
  command->add_option("--only", flags->only, "Only these memories, as in l1,l2")
      ->delimiter(',')
      ->check(check_memory_id)
      ->type_name("ID,...");
  add_format_option(*command, flags->format);
  add_output_option(*command, flags->output);
  command->add_flag("--verify", flags->verify,
                    "Also hold timing against hardware counters (a real GPU, with the right to)");
  command->add_flag("--save", flags->save, "Keep the result for show, hwloc and LIKWID");
  command->add_option("--record", flags->record, "Keep everything the device answered in FILE, for replay:FILE")
      ->type_name("FILE");
  command->add_option("--method", flags->method, "Statistics: default, or thesis (geometric mapping and KS test)")
      ->check(CLI::IsMember({"default", "thesis"}))
      ->type_name("NAME")
      ->capture_default_str();
  command->add_option("--seed", flags->seed, "Of walk orders and bootstraps")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--quiet", flags->quiet, "No progress and no remarks on stderr");
  command->callback(
      [flags, spec, &context] { context.action = [=, &context] { return discover(*flags, *spec, context); }; });
}

}  // namespace gputopo::cli
