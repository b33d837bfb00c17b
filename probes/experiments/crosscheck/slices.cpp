#include "experiments/crosscheck/slices.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "evidence/chip/slice_map.hpp"
#include "experiments/crosscheck/counted.hpp"
#include "experiments/crosscheck/plan.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;

constexpr std::size_t most_rounds = 4;  // each with other lines
// All SMs of a launch read what they have to do from one slice, 540 loads on an H200: two lines of it have to show
// beside that.
constexpr std::uint32_t loads_of_a_line = 2048;

// The `round`-th line of each place that has as many.
std::vector<std::uint64_t> lines_of_round(const SlicePlaces& places, std::size_t round) {
  std::vector<std::size_t> seen(places.count, 0);
  std::vector<std::uint64_t> lines;
  for (std::size_t line = 0; line < places.of_line.size(); ++line) {
    const std::size_t at = places.of_line[line];
    if (at < places.count && seen[at]++ == round) lines.push_back(line);
  }
  return lines;
}

PlannedCheck walk_of(const Session& session, const SliceMap& map, const std::vector<std::uint64_t>& lines,
                     std::uint32_t loads_each) {
  program::Program p = make_program("l2 cross-check, a line of each slice", session.info(), slot_flush);
  p.isolation = Scope::gpu;
  p.agents = {{map.sms.front(), 0}};
  for (const std::uint64_t line : lines) {
    program::Walk walk = make_walk(l2_path, map.line_bytes, map.line_bytes, loads_each);
    walk.first_byte = line * map.line_bytes;
    p.phases.emplace_back(walk);
  }
  return {PlannedCheck::Shape::sampled, lines.size() * map.line_bytes, 0, {}, {std::move(p)}, 1, 0, loads_each == 1};
}

std::vector<PlannedCheck> plan_slices(const Session& session, const SliceMap& map) {
  // The first launch after a pause finds caches that no later one finds.
  std::vector<PlannedCheck> plan(4, walk_of(session, map, lines_of_round(map.places, 0), 1));
  for (std::size_t round = 0; round < most_rounds; ++round) {
    const auto lines = lines_of_round(map.places, round);
    if (lines.size() > 1) plan.push_back(walk_of(session, map, lines, loads_of_a_line));
  }
  return plan;
}

// `strays`: what else the busiest slice may have served.
std::string_view verdict_of_walk(double busiest, double strays) {
  const double apart = std::fabs(busiest - loads_of_a_line);
  if (apart == 0) return verdict_equal;
  return apart <= strays ? verdict_within : verdict_differs;
}

std::string_view verdict_of_places(double places, double slices) {
  if (places > slices) return verdict_differs;
  return places == slices ? verdict_equal : verdict_within;
}

struct SliceCounts {
  double all, busiest, mean;
};

SliceCounts counts_of(const CountedRun& run) {
  return {run.values[0], run.values[1], run.values[2]};
}

// What the busiest slice serves in a launch that hardly loads anything.
double strays_of(const std::vector<PlannedCheck>& plan, const std::vector<CountedRun>& runs) {
  double most = 0;
  for (std::size_t i = 1; i < plan.size(); ++i)
    if (plan[i].empty) most = std::max(most, counts_of(runs[i]).busiest);
  return most;
}

std::vector<CrossCheck> entries_of(const std::vector<PlannedCheck>& plan, const std::vector<CountedRun>& runs,
                                   const counters::Metrics& metrics, double places) {
  std::vector<CrossCheck> entries;
  double slices = 0;
  const double strays = strays_of(plan, runs);
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (plan[i].empty) continue;
    const SliceCounts counts = counts_of(runs[i]);
    if (counts.mean > 0) slices = std::round(counts.all / counts.mean);
    entries.push_back({"l2", fmt::format("{}{}", check_of_slices, metrics[1]), plan[i].footprint_bytes,
                       plan[i].launch.front().phases.size() * loads_of_a_line, loads_of_a_line, counts.busiest,
                       std::string(verdict_of_walk(counts.busiest, strays)), 0});
  }
  entries.push_back({"l2", fmt::format("{}{}", check_of_slice_count, metrics[2]), 0, 0, places, slices,
                     std::string(verdict_of_places(places, slices)), 0});
  return entries;
}

bool any_differs(const std::vector<CrossCheck>& entries) {
  return std::any_of(entries.begin(), entries.end(), [](const CrossCheck& e) { return e.verdict == verdict_differs; });
}

}  // namespace

Expected<void> check_slices(Session& session, counters::Counter& counter, const counters::Chip& chip,
                            const Findings::L2Sets& sets, std::uint64_t line_bytes, CrossCheckReport& report) {
  const auto unchecked = [&](const std::string& why) {
    report.notes.push_back("l2: its slices weren't checked against counters: " + why);
    return Expected<void>();
  };
  const auto failed = [&](const Error& error) -> Expected<void> {  // another process may leave no time for it
    if (error.kind == Error::Kind::unavailable) return unchecked(error.message);
    return tl::unexpected<Error>(error);
  };
  const auto map = map_slices(session, sets, line_bytes);
  if (!map) return failed(map.error());
  if (!map->places.why_open.empty()) return unchecked(map->places.why_open);
  const std::string reads = chip.slice_reads();
  const counters::Metrics metrics{reads + ".sum", reads + ".max", reads + ".avg"};
  const auto plan = plan_slices(session, *map);
  std::vector<CrossCheck> entries;
  // Another program's loads are counted as well. Not twice, though.
  for (int attempt = 0; attempt == 0 || (attempt == 1 && any_differs(entries)); ++attempt) {
    const auto runs = run_counted(session, counter, metrics, plan);
    if (!runs) return failed(runs.error());
    if (2 * strays_of(plan, *runs) > loads_of_a_line)
      return unchecked("launches that load nothing keep one of them as busy as loads of a line do");
    entries = entries_of(plan, *runs, metrics, static_cast<double>(map->places.count));
  }
  report.entries.insert(report.entries.end(), entries.begin(), entries.end());
  return {};
}

}  // namespace gputopo::experiments
