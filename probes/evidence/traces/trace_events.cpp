#include "evidence/traces/trace_events.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "change_point/trace_check.hpp"
#include "stop/stop.hpp"

namespace gputopo::evidence {
namespace {

using namespace change_point;

constexpr std::size_t most_parts_of_a_row = 32, fewest_parts_of_a_row = 4, fewest_loads = 4;

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

// Misses one right after the other, the most that there are.
double longest_run(const Row& row, double threshold) {
  double longest = 0, run = 0;
  for (const double cycles : row.values) {
    run = cycles >= threshold ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return longest;
}

// An event that lasts longer than a stretch is several of those, but where most misses come one right after the other
// and neighbouring rows have none: then it is one, however long.
double loads_an_event_of(const Trace& trace, std::span<const Observation> rows, std::size_t i, double threshold) {
  // The ratio of few misses is skewed: three by chance in one stretch of all lie six deviations off.
  constexpr double fewest_misses = 3;
  const std::size_t loads = trace.rows[i].values.size();
  if (std::min(rows[i].sum, rows[i].weight - rows[i].sum) < fewest_misses) return 1;
  const std::size_t length = std::max(fewest_loads, loads / most_parts_of_a_row);
  if (loads / length < fewest_parts_of_a_row) return 1;
  const double ratio = beyond_chance(trace, rows, i, threshold, length);
  const auto misses = [&](std::size_t other) { return other < rows.size() && rows[other].sum >= fewest_misses; };
  const double run = longest_run(trace.rows[i], threshold);
  const bool is_one = 2 * run > rows[i].sum && !misses(i - 1) && !misses(i + 1);
  return ratio > 1 && is_one ? std::max(ratio, run) : ratio;
}

}  // namespace

std::vector<double> loads_an_event(const Trace& trace, std::span<const Observation> rows, double threshold_cycles) {
  std::vector<double> loads(rows.size(), 1);
  if (are_sorted(trace)) return loads;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    stop::look();
    loads[i] = loads_an_event_of(trace, rows, i, threshold_cycles);
  }
  return loads;
}

}  // namespace gputopo::evidence
