#include "change_point/split_test.hpp"

#include <cmath>
#include <vector>

#include "change_point/kolmogorov_smirnov.hpp"
#include "change_point/random.hpp"
#include "change_point/significance.hpp"

namespace gputopo::change_point {
namespace {

double scaled(double ks, std::size_t first_after, std::size_t size) {
  const double m = static_cast<double>(first_after);
  const double n = static_cast<double>(size - first_after);
  return ks * std::sqrt(m * n / (m + n));
}

}  // namespace

SplitTest test_best_split(std::span<const double> series, Cost cost, std::uint64_t seed, int permutations) {
  SplitTest test;
  const auto split = best_split(SegmentCost(series, cost));
  if (!split) {
    return test;
  }
  test.split = *split;
  const std::size_t before = split->first_after;
  test.ks = ks_statistic(series.first(before), series.subspan(before));
  test.naive_p_value = ks_p_value(test.ks, before, series.size() - before);
  std::vector<double> shuffled(series.begin(), series.end());
  test.calibrated_p_value =
      permutation_p_value(scaled(test.ks, before, series.size()), seed, permutations, [&](Random& random) {
        random.shuffle(shuffled);
        const std::span<const double> view(shuffled);
        const std::size_t at = best_split(SegmentCost(view, cost))->first_after;
        return scaled(ks_statistic(view.first(at), view.subspan(at)), at, view.size());
      });
  return test;
}

}  // namespace gputopo::change_point
