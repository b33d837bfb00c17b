#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/render.hpp"
#include "cli/bench_traffic.hpp"
#include "cli/commands.hpp"
#include "cli/counters.hpp"
#include "cli/device_option.hpp"
#include "cli/output.hpp"
#include "cli/places.hpp"
#include "cli/progress.hpp"
#include "cli/seed_option.hpp"
#include "device/open/open.hpp"
#include "device/replay/recording_device.hpp"
#include "experiments/discover.hpp"
#include "files/files.hpp"
#include "report/text.hpp"
#include "stop/stop.hpp"
#include "throughput/registry.hpp"

namespace gputopo::cli {
namespace {

using throughput::Benchmark;

struct BenchFlags {
  std::vector<std::string> names;
  bool list = false;
  std::vector<std::string> predict;
  std::string size;
  std::string device = "auto";
  std::string format = "table";
  std::string output;
  std::string record;
  bool all = false;
  std::uint64_t seed = 1;
  bool quiet = false;
};

constexpr std::string_view traffic = "traffic";  // also predicted without being run

std::string known_names() {
  std::vector<std::string_view> names;
  for (const Benchmark& b : throughput::benchmarks()) names.push_back(b.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

// What the command line asks of `traffic`, or why that can't be.
void check_prediction(const BenchFlags& flags, TrafficQuestion& question) {
  question.strides = parse_counts(flags.predict);
  const auto size = parse_counts({flags.size});
  if (question.strides.empty() || size.empty())
    throw CLI::ValidationError("--predict and --size",
                               "write strides and bytes as whole numbers from 1 to 2^50, as in "
                               "--predict 1,16,1024 --size 200000000");
  if (flags.format != "table" && flags.format != "json")
    throw CLI::ValidationError("--format", "a prediction is printed as table or json");
  if (flags.names.size() > 2) throw CLI::ValidationError("FILE", "name one file with a topology");
  if (!flags.record.empty()) throw CLI::ValidationError("--record", "a prediction runs nothing that could be kept");
  question.vector_bytes = size.front();
  if (flags.names.size() == 2) question.file = flags.names.back();
  question.format = flags.format;
  question.output = flags.output;
  question.quiet = flags.quiet;
}

void check_names(const BenchFlags& flags) {
  for (const std::string& name : flags.names) {
    if (throughput::find_benchmark(name) == nullptr)
      throw CLI::ValidationError(
          "NAME", fmt::format("unknown benchmark '{}', choose from {}", report::printable(name, 60), known_names()));
  }
}

std::string check_format(const std::string& name) {
  std::vector<std::string_view> names;
  for (const bench::Format& f : bench::formats()) {
    if (f.name == name) return {};
    names.push_back(f.name);
  }
  return fmt::format("unknown format '{}', choose one of {}", report::printable(name, 60), fmt::join(names, ", "));
}

Expected<Exit> list(const BenchFlags& flags, const Context& context) {
  std::string text;
  const auto add = [&](std::string_view name, const std::string& gives) {
    constexpr std::size_t column = 13;
    for (const std::string& line : report::wrap(fmt::format("{:<{}}{}", name, column, gives),
                                                flags.output.empty() ? context.columns : 80, column))
      text += line + '\n';
  };
  for (const Benchmark& b : throughput::benchmarks()) add(b.name, fmt::format("{} (about {} s)", b.gives, b.seconds));
  add(traffic, "with --predict and --size: the same without running anything");
  if (auto written = emit(flags.output, text); !written) return tl::unexpected<Error>(written.error());
  return Exit::done;
}

std::vector<const Benchmark*> chosen_of(const BenchFlags& flags) {
  std::vector<const Benchmark*> chosen;
  for (const Benchmark& b : throughput::benchmarks())
    if (flags.names.empty() || std::find(flags.names.begin(), flags.names.end(), b.name) != flags.names.end())
      chosen.push_back(&b);
  return chosen;
}

// Footprints have to fit the caches, so their sizes are measured first.
Expected<Topology> sizes_for(device::Device& device, const std::vector<const Benchmark*>& chosen,
                             const BenchFlags& flags, const Context& context, ProgressBar& bar) {
  std::set<std::string> ids;
  for (const Benchmark* b : chosen) ids.insert(b->sizes.begin(), b->sizes.end());
  if (ids.empty()) return Topology{};
  experiments::DiscoverOptions options;
  options.only.assign(ids.begin(), ids.end());
  options.extras = false;
  options.seed = flags.seed;
  options.stop = context.stop;
  options.progress = [&bar](double done, std::string_view label) { bar.show(done / 4, label); };
  return experiments::discover(device, options);
}

Expected<throughput::Report> run_benchmarks(device::Device& device, const BenchFlags& flags, const device::Spec& spec,
                                            const Context& context, ProgressBar& bar) {
  const auto chosen = chosen_of(flags);
  if (std::any_of(chosen.begin(), chosen.end(), [](const Benchmark* b) { return b->is_of_streams; }))
    if (auto ok = throughput::check_streams(device); !ok) return tl::unexpected<Error>(ok.error());
  const auto sizes = sizes_for(device, chosen, flags, context, bar);
  if (!sizes) return tl::unexpected<Error>(sizes.error());
  throughput::Options options;
  options.chosen = chosen;
  options.open_counter = [&] { return open_counter_of(device, spec); };
  options.seed = flags.seed;
  options.stop = context.stop;
  options.progress = [&bar](double done, std::string_view label) { bar.show(0.25 + 0.75 * done, label); };
  return throughput::run(device, *sizes, options);
}

Exit verdict(const throughput::Report& report) {
  if (report.interrupted) return Exit::interrupted;
  for (const auto& result : report.results)
    for (const auto& f : result.findings)
      if (f.estimate.status == Status::inconclusive) return Exit::inconclusive;
  return Exit::done;
}

Expected<Exit> write(const throughput::Report& report, const BenchFlags& flags, const Context& context,
                     std::string headline) {
  bench::Options options;
  options.all = flags.all;
  options.headline = std::move(headline);
  if (flags.output.empty()) options.look = context.look;
  if (flags.output.empty()) options.width = context.columns;
  if (report.interrupted && report.results.empty())
    return fail(Error::Kind::interrupted, "interrupted before the first benchmark was complete; nothing was written");
  // What is done is kept: the wish to stop has been met.
  if (report.interrupted) stop::requested = false;
  const auto formats = bench::formats();
  const auto format =
      std::find_if(formats.begin(), formats.end(), [&](const bench::Format& f) { return f.name == flags.format; });
  if (auto written = emit(flags.output, format->render(report, options), options.look); !written)
    return tl::unexpected<Error>(written.error());
  return verdict(report);
}

Expected<Exit> run_bench(const BenchFlags& flags, const device::Spec& spec, const Context& context) {
  if (flags.list) return list(flags, context);
  std::vector<Output> outputs{result_output(flags.output)};
  if (!flags.record.empty()) outputs.push_back({"the recording", "--record", flags.record});
  if (auto ok = check_places(outputs, files_of({spec})); !ok) return tl::unexpected<Error>(ok.error());
  ProgressBar bar(context.stderr_is_terminal && !flags.quiet);
  auto opened =
      device::open(spec, open_options(context, flags.quiet, [&bar](std::string_view what) { bar.show(0, what); }));
  if (!opened) return tl::unexpected<Error>(opened.error());
  if (flags.format != "table" && !flags.quiet) context.remarks.add(opened->headline);
  replay::RecordingDevice recorder(*opened->device);
  device::Device& device = flags.record.empty() ? *opened->device : recorder;
  const auto report = run_benchmarks(device, flags, spec, context, bar);
  bar.clear();
  if (!report) return tl::unexpected<Error>(report.error());
  auto exit = write(*report, flags, context, opened->headline);
  if (exit && !flags.record.empty())
    if (auto saved = emit(flags.record, to_text(recorder.recording())); !saved)
      return tl::unexpected<Error>(saved.error());
  return exit;
}

}  // namespace

void add_bench_command(CLI::App& app, Context& context) {
  auto flags = std::make_shared<BenchFlags>();
  auto spec = std::make_shared<device::Spec>();
  CLI::App* command = app.add_subcommand("bench", "Measure throughput: how fast each level is, and what that costs");
  command->add_option("NAME", flags->names, "Which benchmarks; without a name all of them");
  command->add_flag("--list", flags->list, "List the benchmarks");
  CLI::Option* predict =
      command->add_option("--predict", flags->predict, "With 'traffic [FILE]': predict for these strides, in floats")
          ->delimiter(',')
          ->type_name("STRIDE,...");
  CLI::Option* size = command->add_option("--size", flags->size, "Of each of the three vectors")->type_name("BYTES");
  predict->needs(size);
  size->needs(predict);
  add_device_option(*command, flags->device, spec, "auto, cuda:N, sim:NAME, sim:FILE.json or replay:FILE");
  command->add_option("--format", flags->format, "How to print: table, json, csv, html")
      ->check(check_format)
      ->type_name("NAME")
      ->capture_default_str();
  add_output_option(*command, flags->output);
  command->add_option("--record", flags->record, "Keep everything the device answered in FILE, for replay:FILE")
      ->type_name("FILE");
  command->add_flag("--all", flags->all, "Print everything: also the points of plots");
  add_seed_option(*command, flags->seed, "Of the discovery of sizes");
  command->add_flag("--quiet", flags->quiet, "No progress and no remarks on stderr");
  command->callback([flags, spec, &context] {
    if (!flags->predict.empty() && !flags->names.empty() && flags->names.front() == traffic) {
      TrafficQuestion question;
      check_prediction(*flags, question);
      question.device = *spec;
      context.action = [=, &context] { return answer_traffic(question, context); };
      return;
    }
    if (!flags->predict.empty()) throw CLI::ValidationError("--predict", "goes with traffic, as in bench traffic");
    check_names(*flags);
    context.action = [=, &context] { return run_bench(*flags, *spec, context); };
  });
}

}  // namespace gputopo::cli
