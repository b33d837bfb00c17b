#include "evidence/traces/trace_nested.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include <boost/math/distributions/binomial.hpp>

#include "evidence/traces/trace_laps.hpp"

namespace gputopo::evidence {
namespace {

using change_point::Observation;
using change_point::Row;
using change_point::Trace;

// Of the lines that a footprint adds.
enum Slow : std::size_t { none, all, some };

// Log-probability of rows of the same slow lines and more. Lines may be far by stretches longer than what a row adds:
// what was seen of the lines before says which of three is likely next (Krichevsky and Trofimov's estimator).
class SameLines {
 public:
  // So many slow loads more of so many loads more. Strangers come and go.
  double add(double slow, double added, double loads) {
    constexpr double deviations = 2;
    const double strangers = deviations * std::sqrt(2 * foreign_contamination.false_miss * loads);
    const double outside = std::max({0.0, -slow, slow - added});
    const Slow now = slow <= strangers ? none : slow >= added - strangers ? all : some;
    auto& seen = seen_[last_];
    const double likely = seen[now] / (seen[none] + seen[all] + seen[some]);
    ++seen[now], last_ = now;
    const double beyond = std::max(0.0, outside - strangers);
    return std::log(likely) - (now == some ? std::log(added + 1) : 0) - beyond * beyond / 2;
  }

 private:
  std::array<std::array<double, 3>, 3> seen_{{{0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}}};
  Slow last_ = none;
};

// Of so many by themselves, each load with the row's share.
double by_itself(const Observation& row, double share) {
  const double p = std::clamp(share, 0.0, 1.0);
  if (p == 0 || p == 1) return 0;
  constexpr double least = 1e-300;  // rows may scatter by more than numbers go down to
  return std::log(std::max(least, boost::math::pdf(boost::math::binomial_distribution<>(row.weight, p), row.sum)));
}

// Places that two walks share, by what either's loads take there, and slow loads of the larger one at others.
struct Places {
  double fast = 0, slow = 0, slower = 0, faster = 0, slow_at_new = 0;

  // Isolated loads are slow anywhere. Of lines that come and go with the footprint, by any replacement, far more
  // change.
  bool are_kept() const {
    constexpr double nearly_all = 0.9, few = 0.1, fewest = 8;
    return fast >= fewest && slow + slow_at_new >= fewest && fast >= nearly_all * (fast + slower) &&
           slow >= nearly_all * (slow + faster) && slower - faster <= few * slow_at_new;
  }
};

// In laps of a row's loads over `laps`.
Places places_of(const Trace& trace, std::size_t laps, double threshold_cycles) {
  Places places;
  for (std::size_t i = 1; i < trace.rows.size(); ++i) {
    const std::vector<double>&less = trace.rows[i - 1].values, &more = trace.rows[i].values;
    for (std::size_t at = 0; at < more.size() / laps; ++at) {
      const bool is_slow = more[at] >= threshold_cycles;
      if (at >= less.size() / laps) {
        places.slow_at_new += is_slow ? 1 : 0;
        continue;
      }
      const bool was_slow = less[at] >= threshold_cycles;
      ++(was_slow ? is_slow ? places.slow : places.faster : is_slow ? places.slower : places.fast);
    }
  }
  return places;
}

}  // namespace

bool are_slow_loads_nested(std::span<const Observation> rows) {
  constexpr double beyond_doubt = 5;  // of the logarithm: one in 150
  const auto is_no_larger = [](const Observation& a, const Observation& b) { return b.weight <= a.weight; };
  if (rows.size() < 2 || std::ranges::adjacent_find(rows, is_no_larger) != rows.end()) return false;
  const std::vector<double> shares = change_point::RisingLevels(rows, {}).fitted();
  SameLines same;
  double same_lines = 0, by_themselves = 0;
  Observation before;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    same_lines += same.add(rows[i].sum - before.sum, rows[i].weight - before.weight, before.weight);
    by_themselves += by_itself(rows[i], shares[i]);
    before = rows[i];
  }
  return same_lines > by_themselves + beyond_doubt;
}

bool do_slow_loads_keep_their_places(const Trace& trace, double threshold_cycles) {
  constexpr std::size_t most_laps = 16;
  if (!std::ranges::is_sorted(trace.rows, {}, [](const Row& row) { return row.values.size(); })) return false;
  for (std::size_t laps = 1; laps <= most_laps; ++laps) {
    const bool are_whole = std::ranges::all_of(trace.rows, [&](const Row& r) { return r.values.size() % laps == 0; });
    if (are_whole && places_of(trace, laps, threshold_cycles).are_kept()) return true;
  }
  return false;
}

}  // namespace gputopo::evidence
