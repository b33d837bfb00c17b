#include <map>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "cli/analysis.hpp"
#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/places.hpp"
#include "cli/seed_option.hpp"
#include "cli/usage.hpp"
#include "topology/json.hpp"

namespace gputopo::cli {
namespace {

struct AnalyzeFlags {
  std::string trace;
  std::string attribute = "size";
  std::string method = "default";
  std::string format = "table";
  std::string output;
  std::uint64_t seed = 1;
};

const std::map<std::string, Attribute>& attributes() {
  static const std::map<std::string, Attribute> names = {{"size", Attribute::size},
                                                         {"line_size", Attribute::line_size},
                                                         {"fetch_granularity", Attribute::fetch_granularity},
                                                         {"latency", Attribute::latency}};
  return names;
}

Expected<Exit> analyze(const AnalyzeFlags& flags) {
  if (auto ok = check_places({result_output(flags.output)}, {flags.trace}); !ok)
    return tl::unexpected<Error>(ok.error());
  evidence::TraceOptions options;
  options.seed = flags.seed;
  if (flags.method == "thesis") options.method = evidence::TraceOptions::Method::thesis;
  const auto analysis = analyze_file(flags.trace, attributes().at(flags.attribute), options);
  if (!analysis) return tl::unexpected<Error>(analysis.error());
  const std::string text =
      flags.format == "json" ? json_text(to_json(analysis->estimate)) : analysis_as_text(*analysis, flags.attribute);
  if (auto written = emit(flags.output, text); !written) return tl::unexpected<Error>(written.error());
  return analysis->estimate.status == Status::inconclusive ? Exit::inconclusive : Exit::done;
}

}  // namespace

void add_analyze_command(CLI::App& app, Context& context) {
  auto flags = std::make_shared<AnalyzeFlags>();
  CLI::App* command = app.add_subcommand("analyze", "Statistics on a trace that anybody recorded");
  command
      ->add_option("TRACE.csv", flags->trace,
                   "Rows of numbers: size,latencies (size), stride,latencies (fetch_granularity), "
                   "stride,size,latencies (line_size) or latencies alone (latency); - is standard input")
      ->required();
  command->add_option("--attribute", flags->attribute, "What to estimate")
      ->check(one_of({"size", "line_size", "fetch_granularity", "latency"}))
      ->capture_default_str();
  command->add_option("--method", flags->method, "For sizes: default, or the geometric mapping with one split (thesis)")
      ->check(one_of({"default", "thesis"}))
      ->capture_default_str();
  command->add_option("--format", flags->format, "How to print it")
      ->check(one_of({"table", "json"}))
      ->capture_default_str();
  add_seed_option(*command, flags->seed, "Of permutations");
  add_output_option(*command, flags->output);
  command->callback([flags, &context] { context.action = [flags] { return analyze(*flags); }; });
}

}  // namespace gputopo::cli
