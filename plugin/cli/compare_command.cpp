#include <charconv>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/places.hpp"
#include "cli/stored.hpp"
#include "cli/topology_files.hpp"
#include "cli/usage.hpp"
#include "compare/render.hpp"
#include "report/legible.hpp"
#include "store/environment.hpp"

namespace gputopo::cli {
namespace {

struct CompareFlags {
  std::vector<std::string> files;
  std::string format = "table";
  std::string output;
  compare::Options options;
};

Expected<FromFiles> stored_ones(const CompareFlags& flags, Remarks& remarks) {
  auto stored = stored_topologies("compare", remarks);
  if (!stored) return tl::unexpected<Error>(stored.error());
  if (auto ok = check_places({result_output(flags.output)}, stored->files); !ok)
    return tl::unexpected<Error>(ok.error());
  const std::size_t count = stored->topologies.size();
  const bool simulated = store::process_environment().simulate.has_value();
  return FromFiles{std::move(stored->topologies),
                   std::vector<std::string>(count, simulated ? "GPUTOPO_SIMULATE" : "stored")};
}

Expected<FromFiles> compared_topologies(const CompareFlags& flags, Remarks& remarks) {
  auto found = flags.files.empty() ? stored_ones(flags, remarks) : read_topology_files(flags.files, "compare", remarks);
  if (found && found->topologies.size() < 2)
    return fail(Error::Kind::bad_input,
                "nothing to compare: there is only one GPU; name two files or more, written by 'gputopo discover "
                "--format json'");
  return found;
}

Expected<Exit> run_compare(const CompareFlags& flags, const Context& context) {
  if (auto ok = check_places({result_output(flags.output)}, flags.files); !ok) return tl::unexpected<Error>(ok.error());
  auto found = compared_topologies(flags, context.remarks);
  if (!found) return tl::unexpected<Error>(found.error());
  if (flags.format != "json")
    for (Topology& topology : found->topologies) topology = report::legible(topology);
  const auto comparison = compare::compare(found->topologies, flags.options);
  if (!comparison) return tl::unexpected<Error>(comparison.error());
  std::vector<compare::Subject> gpus;
  for (std::size_t i = 0; i < found->topologies.size(); ++i) gpus.push_back({found->files[i], &found->topologies[i]});
  const std::string text = flags.format == "json" ? compare::render_json(gpus, *comparison)
                                                  : compare::render_table(gpus, *comparison, context.columns);
  if (auto written = emit(flags.output, text); !written) return tl::unexpected<Error>(written.error());
  return comparison->differences.empty() ? Exit::done : Exit::inconclusive;
}

// What CLI11's own range lets pass: 'nan', which no number is equal to, not even itself, and hexadecimal digits.
std::string percent(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && stopped == end && value >= 0 && value <= 100) return {};
  return fmt::format("'{}' is no tolerance: write percent from 0 to 100", text);
}

}  // namespace

void add_compare_command(CLI::App& app, Context& context) {
  auto flags = std::make_shared<CompareFlags>();
  CLI::App* command = app.add_subcommand("compare", "Say what differs between GPUs that ought to be equal");
  command->add_option(
      "FILE", flags->files,
      "Topologies written by discover --format json, in place of the stored ones of this machine's GPUs");
  command
      ->add_option(
          "--tolerance", flags->options.tolerance_percent,
          "Percent that times, rates and the driver's word on the memory may differ by, beyond their intervals")
      ->check(percent)
      ->type_name("PERCENT")
      ->capture_default_str();
  command->add_option("--ignore", flags->options.ignore, "Quantities not to compare, by their keys in --format json")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("KEY,...");
  command->add_option("--format", flags->format, "How to print: table, json")
      ->check(one_of({"table", "json"}))
      ->type_name("NAME")
      ->capture_default_str();
  add_output_option(*command, flags->output);
  command->footer("Exit status: 0 nothing differs, 3 something does.");
  command->callback([flags, &context] { context.action = [=, &context] { return run_compare(*flags, context); }; });
}

}  // namespace gputopo::cli
