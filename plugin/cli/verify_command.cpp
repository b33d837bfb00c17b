#include <algorithm>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "catalog/catalog.hpp"
#include "cli/commands.hpp"
#include "cli/counters.hpp"
#include "cli/device_option.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/seed_option.hpp"
#include "device/open/open.hpp"
#include "experiments/discover.hpp"
#include "report/grid.hpp"
#include "report/text.hpp"

namespace gputopo::cli {
namespace {

struct VerifyFlags {
  std::string device = "auto";
  std::uint64_t seed = 1;
  bool quiet = false;
};

// Loads that counters saw; where that isn't what was asked for, both. Without a counter of them what was asked for.
std::string loads_of(const CheckedFootprint& row) {
  const auto asked = fmt::format("{}", row.loads_asked);
  const auto issued = row.loads_issued ? fmt::format("{:.0f}", *row.loads_issued) : asked;
  return issued == asked ? asked : fmt::format("{} of {}", issued, asked);
}

// Slices of the L2: how many there are, and whether lines of different ones met in one.
std::string slices_table(const experiments::CrossCheckReport& report, const Context& context) {
  using report::Align;
  report::Grid grid({{"Slices"}, {"What"}, {"Timed", Align::right}, {"Counted", Align::right}, {"Verdict"}});
  bool any = false;
  for (const CrossCheck& entry : report.entries) {
    const bool is_count = entry.metric.starts_with(experiments::check_of_slice_count);
    if (!is_count && !entry.metric.starts_with(experiments::check_of_slices)) continue;
    any = true;
    grid.add({{entry.memory, {}},
              {is_count ? "in all" : "as busy as the busiest, of those found", {}},
              {fmt::format("{:.4g}", entry.by_timing), {}},
              {fmt::format("{:.4g}", entry.by_counter), {}},
              {entry.verdict, {}}});
  }
  grid.fit(context.columns);
  return any ? grid.text(context.look) : std::string();
}

// 80 columns hold all of it: the longest verdict, and numbers of eight digits.
std::string table(const Topology& topology, const experiments::CrossCheckReport& report, const Context& context) {
  using report::Align;
  report::Grid grid({{"Memory", Align::left, "and carve-out"},
                     {"Size tried", Align::right},
                     {"Loads", Align::right},
                     {"Misses", Align::right, "timed"},
                     {"Misses", Align::right, "counted"},
                     {"Verdict"}});
  for (const CheckedFootprint& row : checked_footprints(report.entries))
    grid.add({{row.carve_out_percent == 0 ? row.memory : fmt::format("{} {} %", row.memory, row.carve_out_percent), {}},
              {report::brief_size_text(static_cast<double>(row.size_bytes)), {}},
              {loads_of(row), {}},
              {row.by_timing ? fmt::format("{:.0f}", *row.by_timing) : "-", {}},
              {row.by_counter ? fmt::format("{:.0f}", *row.by_counter) : "-", {}},
              {row.verdict, {}}});
  grid.fit(context.columns);
  std::string text = grid.text(context.look);
  report::Grid sizes({{"Memory"},
                      {"Detected", Align::right},
                      {"Change point", Align::right, "by timing"},
                      {"Change point", Align::right, "by counter"},
                      {"Verdict"}});
  for (const CrossCheck& entry : report.entries) {
    if (!entry.metric.starts_with(experiments::check_of_size)) continue;
    const Memory* memory = topology.find(entry.memory);
    const Estimate* size = memory == nullptr ? nullptr : memory->find("size");
    sizes.add({{entry.memory, {}},
               {size != nullptr && size->has_value() ? fmt::format("{:.0f} B", *size->value) : "-", {}},
               {fmt::format("{:.0f} B", entry.by_timing), {}},
               {fmt::format("{:.0f} B", entry.by_counter), {}},
               {entry.verdict, {}}});
  }
  sizes.fit(context.columns);
  text += "\n" + sizes.text(context.look) + "\n";
  if (const std::string slices = slices_table(report, context); !slices.empty()) text += slices + "\n";
  for (const std::string& note : report.notes)
    for (const std::string& line : report::wrap(report::printable(note, 200), context.columns, 2)) text += line + "\n";
  return text;
}

// One line a memory, so that nobody has to look for the row that fails.
std::string summary(const Topology& topology, const experiments::CrossCheckReport& report) {
  std::string text;
  for (const Memory& memory : topology.memories)
    if (const std::string verdict = report.verdict(memory.id); !verdict.empty())
      text += fmt::format("{}: {}\n", memory.id, verdict);
  return text;
}

Expected<Exit> verify(const VerifyFlags& flags, const device::Spec& spec, const Context& context) {
  ProgressBar bar(context.stderr_is_terminal && !flags.quiet);
  auto opened =
      device::open(spec, open_options(context, flags.quiet, [&bar](std::string_view what) { bar.show(0, what); }));
  if (!opened) return tl::unexpected<Error>(opened.error());
  auto counter = open_counter_of(*opened->device, spec);
  if (!counter) return tl::unexpected<Error>(counter.error());
  experiments::DiscoverOptions options;
  options.seed = flags.seed;
  options.stop = context.stop;
  options.extras = false;  // only sizes are checked
  for (const catalog::MemoryRow& row : catalog::memories())
    if (!row.counter.empty()) options.only.emplace_back(row.id);
  options.progress = [&bar](double done, std::string_view label) { bar.show(done, label); };
  const auto topology = experiments::discover(*opened->device, options);
  if (!topology) return tl::unexpected<Error>(topology.error());
  const auto report = experiments::cross_check(*opened->device, **counter, *topology, options);
  if (!report) return tl::unexpected<Error>(report.error());
  bar.clear();
  const std::string text = fmt::format("{}, counters of a {}\n\n{}{}", opened->headline, (*counter)->chip(),
                                       table(*topology, *report, context), summary(*topology, *report));
  if (auto written = emit({}, text, context.look); !written) return tl::unexpected<Error>(written.error());
  if (const std::string failed = failed_memories(*topology, *report); !failed.empty()) {
    context.remarks.add(contradiction(failed));
    return Exit::inconclusive;
  }
  return Exit::done;
}

}  // namespace

void add_verify_command(CLI::App& app, Context& context) {
  auto flags = std::make_shared<VerifyFlags>();
  auto spec = std::make_shared<device::Spec>();
  CLI::App* command = app.add_subcommand("verify", "Hold timing against hardware counters, footprint by footprint");
  add_device_option(*command, flags->device, spec, "auto or cuda:N");
  add_seed_option(*command, flags->seed, "Of walk orders and permutations");
  command->add_flag("--quiet", flags->quiet, "No progress on stderr");
  command->callback(
      [flags, spec, &context] { context.action = [=, &context] { return verify(*flags, *spec, context); }; });
}

}  // namespace gputopo::cli
