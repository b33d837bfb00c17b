#include "change_point/significance.hpp"

#include <algorithm>
#include <cmath>

#include "change_point/random.hpp"
#include "stop/stop.hpp"

namespace gputopo::change_point {
namespace {

constexpr int enough_exceedances = 40;

}  // namespace

double chi_squared_tail(double x) {
  return std::erfc(std::sqrt(0.5 * std::max(0.0, x)));
}

double permutation_p_value(double observed, std::uint64_t seed, int reorderings,
                           const std::function<double(Random&)>& permuted) {
  Random random(seed);
  // Sums taken in another order differ in the last bits; such values are ties.
  const double tolerance = 1e-9 * (1 + std::abs(observed));
  int greater = 0;
  int equal = 0;
  int done = 0;
  while (done < reorderings && greater < enough_exceedances) {
    stop::look();
    const double statistic = permuted(random);
    greater += static_cast<int>(statistic > observed + tolerance);
    equal += static_cast<int>(std::abs(statistic - observed) <= tolerance);
    ++done;
  }
  return (greater + random.uniform() * (equal + 1)) / (done + 1);
}

}  // namespace gputopo::change_point
