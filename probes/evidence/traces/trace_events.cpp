#include "evidence/traces/trace_events.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>

#include "change_point/robust.hpp"
#include "change_point/trace_check.hpp"
#include "evidence/traces/trace_laps.hpp"
#include "stop/stop.hpp"

namespace gputopo::evidence {
namespace {

using namespace change_point;

constexpr std::size_t most_parts_of_a_row = 32, fewest_parts_of_a_row = 4, fewest_loads = 4;
// The ratio of few misses is skewed: three by chance in one stretch of all lie six deviations off.
constexpr double fewest_misses = 3;

// How many more of each stretch of so many loads miss than of the row on the average.
std::vector<double> beside_mean(const Row& row, const Observation& counted, std::size_t length, double threshold) {
  std::vector<double> beside(row.values.size() / length, -counted.level() * static_cast<double>(length));
  for (std::size_t i = 0; i < beside.size() * length; ++i) beside[i / length] += row.values[i] >= threshold ? 1 : 0;
  return beside;
}

double product(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) sum += a[i] * b[i];
  return sum;
}

// By how much more stretches of so many loads differ than chance makes them, of which neighbouring rows have nothing; 1
// where that isn't more than chance.
double beyond_chance(const Trace& trace, std::span<const Observation> rows, std::size_t i, double threshold,
                     std::size_t length) {
  constexpr double deviations = 6;
  const Observation& row = rows[i];
  const double level = row.level(), rarer = std::min(row.sum, row.weight - row.sum);
  const std::vector<double> own = beside_mean(trace.rows[i], row, length, threshold);
  const double degrees = static_cast<double>(own.size()) - 1;
  const double by_chance = static_cast<double>(length) * level * (1 - level) * degrees;
  const double most = 1 + deviations * std::sqrt(2 * (rarer - 1) / (rarer * degrees));
  if (product(own, own) <= most * by_chance) return 1;
  double recurring = 0;
  for (const std::size_t other : {i - 1, i + 1})
    if (other < rows.size())
      recurring = std::max(recurring, product(own, beside_mean(trace.rows[other], rows[other], length, threshold)));
  const double ratio = (product(own, own) - recurring) / by_chance;
  return ratio > most ? ratio : 1;
}

// Misses one right after the other.
std::vector<LoadsInARow> slow_runs_of(const Row& row, double threshold) {
  std::vector<LoadsInARow> runs;
  bool is_in_one = false;
  for (std::size_t i = 0; i < row.values.size(); ++i) {
    const bool is_slow = row.values[i] >= threshold;
    if (is_slow && !is_in_one) runs.push_back({i, 0});
    if (is_slow) ++runs.back().length;
    is_in_one = is_slow;
  }
  return runs;
}

// Whether most of a row's misses come one right after the other, as chance hardly ever has it: a cache's sets lie among
// each other.
bool come_at_once(const Observation& row, const LoadsInARow& run) {
  constexpr double by_chance = 1e-4;
  const auto length = static_cast<double>(run.length);
  return 2 * length > row.sum && 2 * row.sum < row.weight && row.weight * std::pow(row.level(), length) <= by_chance;
}

double median_of(const Row& row, const LoadsInARow& run) {
  const auto begin = row.values.begin() + static_cast<std::ptrdiff_t>(run.begin);
  return change_point::median({begin, begin + static_cast<std::ptrdiff_t>(run.length)});
}

// Whether another row misses there, too; of parts of laps, which may begin anywhere, at any place. What a level takes
// lies together, and what interrupts takes as long as it pleases.
bool recurs(const Trace& trace, std::size_t i, const LoadsInARow& run, std::size_t other, double threshold,
            bool whole_laps) {
  if (other >= trace.rows.size()) return false;
  const Row& there = trace.rows[other];
  const double took = median_of(trace.rows[i], run), as_slow = (took - change_point::median(trace.rows[i].values)) / 4;
  const auto is_as_slow = [&](double value) { return std::fabs(value - took) <= as_slow; };
  std::size_t again = 0;
  for (std::size_t at = run.begin; at < std::min(run.begin + run.length, there.values.size()); ++at)
    again += is_as_slow(there.values[at]) ? 1 : 0;
  return 2 * again >= run.length ||
         (!whole_laps && std::ranges::any_of(slow_runs_of(there, threshold), [&](const LoadsInARow& another) {
           return 2 * another.length >= run.length && is_as_slow(median_of(there, another));
         }));
}

// An event that lasts longer than a stretch is several of those, but where most misses come at once and don't recur. Of
// those that recur because most of the next row misses, nobody knows. Of one load in several that can miss, no two are
// neighbours: what is slow right after the other was interrupted.
Event event_of(const Trace& trace, std::span<const Observation> rows, std::size_t i, double threshold,
               const Sweep& sweep) {
  const std::size_t loads = trace.rows[i].values.size();
  if (std::min(rows[i].sum, rows[i].weight - rows[i].sum) < fewest_misses) return {};
  const std::vector<LoadsInARow> runs = slow_runs_of(trace.rows[i], threshold);
  if (goes_several_times_to_a_line(sweep.saturation)) {
    Event interrupted;
    std::ranges::copy_if(runs, std::back_inserter(interrupted.left_out),
                         [](const LoadsInARow& run) { return run.length >= fewest_loads; });
    if (!interrupted.left_out.empty()) return interrupted;
  }
  const LoadsInARow run = *std::ranges::max_element(runs, {}, &LoadsInARow::length);
  const auto recurs_in = [&](std::size_t other) { return recurs(trace, i, run, other, threshold, sweep.whole_laps); };
  const bool at_once = come_at_once(rows[i], run) && !recurs_in(i - 1);
  if (at_once && !recurs_in(i + 1)) return {1, {run}};
  if (at_once && 2 * rows[i + 1].sum >= rows[i + 1].weight) return {static_cast<double>(run.length), {}};
  const std::size_t length = std::max(fewest_loads, loads / most_parts_of_a_row);
  if (loads / length < fewest_parts_of_a_row) return {};
  return {beyond_chance(trace, rows, i, threshold, length), {}};
}

}  // namespace

double Event::left_out_loads() const {
  double loads = 0;
  for (const LoadsInARow& run : left_out) loads += static_cast<double>(run.length);
  return loads;
}

std::vector<Event> events(const Trace& trace, std::span<const Observation> rows, double threshold_cycles,
                          const Sweep& sweep) {
  std::vector<Event> by_row(rows.size());
  if (are_sorted(trace)) return by_row;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    stop::look();
    by_row[i] = event_of(trace, rows, i, threshold_cycles, sweep);
  }
  return by_row;
}

}  // namespace gputopo::evidence
