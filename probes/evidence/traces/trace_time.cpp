#include "evidence/traces/trace_time.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "change_point/isotonic.hpp"
#include "change_point/random.hpp"
#include "change_point/robust.hpp"
#include "change_point/significance.hpp"
#include "change_point/trace_check.hpp"
#include "stop/stop.hpp"

namespace gputopo::evidence {
namespace {

using namespace change_point;

// Misses among neighbouring loads of a row.
using Stretches = std::vector<Observation>;

// Each row's as many as possible, up to 32 or what so many rows leave.
std::vector<Stretches> stretches_of(const Trace& trace, double threshold_cycles) {
  constexpr std::size_t most_of_a_row = 32, most_of_all = 16384;
  const std::size_t most = std::clamp<std::size_t>(most_of_all / trace.rows.size(), 2, most_of_a_row);
  std::vector<Stretches> rows;
  for (const Row& row : trace.rows) {
    stop::look();
    const std::size_t n = row.values.size(), parts = std::min(n, most);
    Stretches& of_row = rows.emplace_back(parts);
    for (std::size_t part = 0; part < parts; ++part)
      for (std::size_t i = part * n / parts; i < (part + 1) * n / parts; ++i)
        of_row[part].weight += 1, of_row[part].sum += row.values[i] >= threshold_cycles ? 1 : 0;
  }
  return rows;
}

// The log-likelihood of levels that only rise over all stretches, one row after the other.
double over_time(const std::vector<Stretches>& rows) {
  Stretches all;
  for (const Stretches& row : rows) all.insert(all.end(), row.begin(), row.end());
  return RisingLevels(all, {}).log_likelihood(0);
}

// Of such levels of each row for itself.
double row_by_row(const std::vector<Stretches>& rows) {
  double sum = 0;
  for (const Stretches& row : rows) sum += RisingLevels(row, {}).log_likelihood(0);
  return sum;
}

// Of one level of each.
double at_one_level(const std::vector<Stretches>& rows) {
  double total = 0;
  for (const Stretches& row : rows) {
    double weight = 0, sum = 0;
    for (const Observation& stretch : row) weight += stretch.weight, sum += stretch.sum;
    total += block_log_likelihood({}, weight, sum);
  }
  return total;
}

// Rows that all ascend were sorted. But for where a single one has different loads: a clock's step is that as well.
bool are_sorted_by_latency(const Trace& trace) {
  constexpr std::ptrdiff_t telling_rows = 2;
  const auto varies = [](const Row& row) {
    return std::ranges::adjacent_find(row.values, std::ranges::not_equal_to()) != row.values.end();
  };
  return are_sorted(trace) && std::ranges::count_if(trace.rows, varies) >= telling_rows;
}

using Loads = std::vector<double>;

double quartiles_apart(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t n = values.size();
  return n < 2 ? 0 : values[n - 1 - n / 4] - values[n / 4];
}

// Of neighbouring loads each: no few of them move it.
std::vector<double> medians_in_order(const Loads& loads) {
  constexpr std::size_t blocks = 8;
  std::vector<double> medians;
  for (std::size_t i = 0; i < blocks; ++i)
    medians.push_back(median({loads.begin() + static_cast<std::ptrdiff_t>(i * loads.size() / blocks),
                              loads.begin() + static_cast<std::ptrdiff_t>((i + 1) * loads.size() / blocks)}));
  return medians;
}

// Of most rows: a clock that changes once does so within one.
double apart_in_order(const std::vector<Loads>& rows) {
  std::vector<double> apart;
  for (const Loads& row : rows) apart.push_back(quartiles_apart(medians_in_order(row)));
  return median(std::move(apart));
}

}  // namespace

bool do_loads_drift(std::span<const Row> rows, double change_cycles, std::uint64_t seed) {
  constexpr std::size_t fewest = 32, most = 256, most_rows = 32;  // loads: of four in a block, and what takes no time
  constexpr double a_good_part = 1.0 / 8, by_chance = 1e-3;
  constexpr int permutations = 2000;
  if (std::ranges::all_of(rows, [](const Row& row) { return std::ranges::is_sorted(row.values); })) return false;
  std::vector<Loads> loads;
  std::vector<double> in_time;
  for (const Row& row : rows) {
    if (row.values.size() < fewest || loads.size() == most_rows) continue;
    loads.emplace_back(row.values.begin(),
                       row.values.begin() + static_cast<std::ptrdiff_t>(std::min(most, row.values.size())));
    const auto medians = medians_in_order(loads.back());
    in_time.insert(in_time.end(), medians.begin(), medians.end());
  }
  if (loads.empty() || quartiles_apart(in_time) < a_good_part * change_cycles) return false;
  return permutation_p_value(apart_in_order(loads), seed, permutations, [&](Random& random) {
           for (Loads& row : loads) random.shuffle(row);
           return apart_in_order(loads);
         }) < by_chance;
}

bool do_misses_follow_time(const Trace& trace, double threshold_cycles, std::uint64_t seed) {
  constexpr double by_chance = 1e-3, begins_anew = 0.1;
  constexpr int permutations = 2000;
  if (are_sorted_by_latency(trace)) return false;
  std::vector<Stretches> rows = stretches_of(trace, threshold_cycles);
  std::vector<Stretches> backwards = rows;
  for (Stretches& row : backwards) std::ranges::reverse(row);
  const double seen = over_time(rows), gain = seen - over_time(backwards);
  // What begins anew with each row is a place in it. Levels that only rise follow the scatter of each row's loads, too:
  // backwards by as much.
  const double by_scatter = row_by_row(backwards) - at_one_level(rows), lacking = row_by_row(rows) - seen;
  if (gain <= 0 || lacking - by_scatter > begins_anew * gain) return false;
  return permutation_p_value(seen, seed, permutations, [&](Random& random) {
           for (Stretches& row : rows) random.shuffle(row);
           return over_time(rows);
         }) < by_chance;
}

}  // namespace gputopo::evidence
