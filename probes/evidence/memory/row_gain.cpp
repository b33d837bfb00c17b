#include "evidence/memory/row_gain.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "evidence/inference/curves.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/inference/levels.hpp"

namespace gputopo::evidence {
namespace {

constexpr std::string_view row_method = "near_pairs";

std::string distance_text(std::uint64_t bytes) {
  if (bytes % (1 << 20) == 0) return fmt::format("{} MiB", bytes >> 20);
  return bytes % 1024 == 0 ? fmt::format("{} KiB", bytes >> 10) : fmt::format("{} B", bytes);
}

}  // namespace

GainAt gain_at(std::uint64_t distance_bytes, std::span<const double> gained_cycles) {
  constexpr double quarter_of_a_cycle = 0.25;  // what rounding leaves of a mean of whole cycles, if all are alike
  const auto n = static_cast<double>(gained_cycles.size());
  GainAt at{distance_bytes, 0, quarter_of_a_cycle, gained_cycles.size()};
  if (gained_cycles.size() < 2) return at;
  for (const double x : gained_cycles) at.cycles += x / n;
  double squares = 0;
  for (const double x : gained_cycles) squares += (x - at.cycles) * (x - at.cycles);
  at.error_cycles = std::max(quarter_of_a_cycle, std::sqrt(squares / (n - 1) / n));
  return at;
}

namespace {

// Of two loads so far apart the farther the fewer lie in one row: what is gained falls in a straight line, and begins
// where that meets no distance at all. Where it shows at one distance alone the row may end anywhere behind that.
Estimate where_it_begins(std::span<const GainAt> shown, std::uint64_t samples) {
  const GainAt& near = shown.front();
  if (shown.size() == 1) {
    Estimate e = measured(near.cycles, "cycles", row_method, samples);
    e.interval = Interval{near.cycles - 1.96 * near.error_cycles, near.cycles + 1.96 * near.error_cycles};
    bound_below(e, fmt::format("shows at {} alone, where part of the pairs may lie in two rows",
                               distance_text(near.distance_bytes)));
    return e;
  }
  const GainAt& next = shown[1];
  // Of places so many bytes apart no pair that is nearer lies in two rows.
  const auto in_two_rows = [](const GainAt& g) {
    return static_cast<double>(g.distance_bytes / row_places_bytes * row_places_bytes);
  };
  const double on = in_two_rows(near) / (in_two_rows(next) - in_two_rows(near));
  const double cycles = near.cycles + on * std::max(0.0, near.cycles - next.cycles);
  const double error = 1.96 * std::hypot((1 + on) * near.error_cycles, on * next.error_cycles);
  Estimate e = measured(cycles, "cycles", row_method, samples);
  e.interval = Interval{cycles - error, cycles + error};
  e.note = fmt::format("shows from {} to {}", distance_text(near.distance_bytes),
                       distance_text(shown.back().distance_bytes));
  return e;
}

}  // namespace

Estimate row_gain(std::span<const GainAt> gains, double latency_cycles) {
  if (gains.empty()) return inconclusive("cycles", row_method, "one fetch brings what lies near, at every distance");
  constexpr double sigmas = 4;         // of the best of a dozen
  constexpr double all_at_once = 2.7;  // 95 % of the largest of a dozen
  double unseen = 0;
  std::uint64_t samples = 0;
  std::vector<GainAt> shown;
  for (const GainAt& g : gains) {
    samples += g.samples;
    unseen = std::max(unseen, g.cycles + all_at_once * g.error_cycles);
    if (g.cycles >= sigmas * g.error_cycles) shown.push_back(g);
  }
  if (!shown.empty()) return where_it_begins(shown, samples);
  constexpr std::uint64_t half_a_row = 512;  // of the shortest that there is, 1 KiB
  if (gains.front().distance_bytes > half_a_row)
    return inconclusive("cycles", row_method,
                        fmt::format("one fetch brings what lies nearer than {}, as far as most of a row reaches",
                                    distance_text(gains.front().distance_bytes)));
  Estimate e = measured(0, "cycles", row_method, samples);
  e.interval = Interval{0, unseen};
  e.note = fmt::format("loads {} to {} behind another one take as long as those far from it",
                       distance_text(gains.front().distance_bytes), distance_text(gains.back().distance_bytes));
  if (unseen > (half_a_level - 1) * latency_cycles) {
    e.status = Status::upper_bound;
    e.value = unseen;
    e.interval.reset();
  }
  return e;
}

DecidingCurve curve_of(std::span<const GainAt> gains, std::string_view memory) {
  DecidingCurve curve = make_curve(memory, "row_gain", {"bytes from the load before", "B", true},
                                   {"less than after a load far away", "cycles", false});
  curve.series = {{"mean of the lines", {}}, {"1.96 standard errors less", {}}, {"1.96 standard errors more", {}}};
  for (const GainAt& g : gains) {
    const auto x = static_cast<double>(g.distance_bytes);
    const double error = 1.96 * g.error_cycles;
    curve.series[0].points.emplace_back(x, g.cycles);
    curve.series[1].points.emplace_back(x, g.cycles - error);
    curve.series[2].points.emplace_back(x, g.cycles + error);
  }
  return curve;
}

}  // namespace gputopo::evidence
