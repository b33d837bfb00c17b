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
#include "evidence/traces/trace_levels.hpp"
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

// Whether loads are fast until one of a row's, and slow from there on, in all rows, but for one in fifty on either side
// and hardly any of that row itself: a clock's step. What a cache misses of the first row that it can't hold is spread
// over the lap, and what it keeps of one row at that place it keeps of the next.
bool switch_once(const Trace& trace, double threshold_cycles) {
  constexpr double of_others = tolerated_share, of_the_row = 0.05;
  constexpr std::ptrdiff_t fewest = 4;  // loads of the row on either side
  const auto is_slow = [&](double cycles) { return cycles >= threshold_cycles; };
  const auto slow_of = [&](const Row& row) { return static_cast<double>(std::ranges::count_if(row.values, is_slow)); };
  const auto share_of = [&](const Row& row) { return slow_of(row) / static_cast<double>(row.values.size()); };
  const auto row = std::ranges::find_if(trace.rows, [&](const Row& r) { return share_of(r) > of_others; });
  if (row == trace.rows.end()) return false;
  if (!std::all_of(row + 1, trace.rows.end(), [&](const Row& r) { return share_of(r) >= 1 - of_others; })) return false;
  // From all taken for slow on, one load after the other taken for fast.
  double wrong = static_cast<double>(row->values.size()) - slow_of(*row), least = wrong;
  std::ptrdiff_t fast = 0, best = 0;
  for (const double cycles : row->values) {
    ++fast;
    wrong += is_slow(cycles) ? 1 : -1;
    if (wrong < least) least = wrong, best = fast;
  }
  const std::ptrdiff_t fewer = std::min(best, std::ssize(row->values) - best);
  return fewer >= fewest && least <= of_the_row * static_cast<double>(fewer);
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

// Rows that ascend tell nothing of their loads' order, but where each begins where the one before it ends: that the
// fastest load of one is as slow as the slowest of another, all along, is no memory's doing.
bool go_on_where_others_end(std::span<const Row> rows) {
  constexpr std::size_t fewest = 3;
  constexpr double rounding = 2;  // of loads that differ by a unit or two
  const auto largest_step = [](const Loads& loads) {
    double largest = 0;
    for (std::size_t i = 1; i < loads.size(); ++i) largest = std::max(largest, loads[i] - loads[i - 1]);
    return largest;
  };
  bool go_on = rows.size() >= fewest && rows.back().values.back() > rows.front().values.front();
  for (std::size_t i = 1; i < rows.size() && go_on; ++i) {
    const Loads &before = rows[i - 1].values, &after = rows[i].values;
    const double step = after.front() - before.back();
    go_on = step >= 0 && step <= rounding * std::max(largest_step(before), largest_step(after));
  }
  return go_on;
}

}  // namespace

bool do_loads_drift(std::span<const Row> rows, double change_cycles, std::uint64_t seed) {
  constexpr std::size_t fewest = 32, most = 256, most_rows = 32;  // loads: of four in a block, and what takes no time
  constexpr double a_good_part = 1.0 / 8, by_chance = 1e-3;
  constexpr int permutations = 2000;
  if (std::ranges::all_of(rows, [](const Row& row) { return std::ranges::is_sorted(row.values); }))
    return go_on_where_others_end(rows);
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
  if (switch_once(trace, threshold_cycles)) return true;
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
