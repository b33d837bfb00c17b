#include "change_point/random.hpp"

#include <algorithm>
#include <cmath>

namespace gputopo::change_point {

double Random::normal() {
  // Marsaglia's polar method; the second number is dropped so that the state alone decides the next one.
  while (true) {
    const double u = 2 * uniform() - 1;
    const double v = 2 * uniform() - 1;
    const double s = u * u + v * v;
    if (s > 0 && s < 1) {
      return u * std::sqrt(-2 * std::log(s) / s);
    }
  }
}

std::uint64_t Random::binomial(std::uint64_t trials, double probability) {
  if (trials == 0 || probability <= 0) {
    return 0;
  }
  if (probability >= 1) {
    return trials;
  }
  if (probability > 0.5) {
    return trials - binomial(trials, 1 - probability);
  }
  const double n = static_cast<double>(trials);
  if (n * probability > 32) {
    const double drawn = std::round(n * probability + normal() * std::sqrt(n * probability * (1 - probability)));
    return static_cast<std::uint64_t>(std::clamp(drawn, 0.0, n));
  }
  // The gaps between successes are geometric.
  const double log_failure = std::log1p(-probability);
  std::uint64_t successes = 0;
  double position = 0;
  while (true) {
    position += std::floor(std::log1p(-uniform()) / log_failure) + 1;
    if (position > n) {
      return successes;
    }
    ++successes;
  }
}

}  // namespace gputopo::change_point
