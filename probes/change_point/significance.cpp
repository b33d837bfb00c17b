#include "change_point/significance.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "change_point/random.hpp"
#include "stop/stop.hpp"

namespace gputopo::change_point {
namespace {

constexpr int default_reorderings = 199;
constexpr int enough_exceedances = 40;

// Distinct levels of a fitted sequence.
std::size_t level_count(std::span<const double> levels) {
  std::size_t count = levels.empty() ? 0 : 1;
  for (std::size_t i = 1; i < levels.size(); ++i) {
    count += static_cast<std::size_t>(levels[i] != levels[i - 1]);
  }
  return count;
}

}  // namespace

double chi_squared_tail(double x) {
  return std::erfc(std::sqrt(0.5 * std::max(0.0, x)));
}

double dispersion(std::span<const Observation> rows, std::span<const double> levels, const LevelModel& model,
                  std::size_t parameters) {
  if (rows.size() <= parameters) {
    return 1;
  }
  double chi_squared = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double variance = model.kind == LevelModel::Kind::binomial ? rows[i].weight * levels[i] * (1 - levels[i])
                                                                     : rows[i].weight * model.variance;
    const double difference = rows[i].sum - rows[i].weight * levels[i];
    if (variance > 0) {
      chi_squared += difference * difference / variance;
    }
  }
  return std::max(1.0, chi_squared / static_cast<double>(rows.size() - parameters));
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

double onset_p_value(std::span<const Candidate> candidates, std::uint64_t seed) {
  double observed = 0;
  double smallest_bound = 1;
  for (const Candidate& candidate : candidates) {
    // Reordered rows obey no law of whole laps, so the statistic that is compared knows none either.
    observed = std::max(observed, onset_profile(candidate.rows, candidate.model).statistic());
    const auto& fitted = candidate.profile->fitted;
    const double scale = dispersion(candidate.rows, fitted, candidate.model, level_count(fitted));
    const double bound = chi_squared_tail(candidate.profile->statistic() / scale) *
                         static_cast<double>(candidate.rows.size() * candidates.size());
    smallest_bound = std::min(smallest_bound, bound);
  }
  if (observed <= 0) {
    return 1;
  }
  if (smallest_bound < 1e-4) {
    return smallest_bound;
  }
  const std::size_t count = candidates.front().rows.size();
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<Observation> reordered(count);
  return permutation_p_value(observed, seed, default_reorderings, [&](Random& random) {
    random.shuffle(order);
    double statistic = 0;
    for (const Candidate& candidate : candidates) {
      for (std::size_t i = 0; i < count; ++i) {
        reordered[i] = candidate.rows[order[i]];
        reordered[i].control = candidate.rows[i].control;
      }
      statistic = std::max(statistic, onset_profile(reordered, candidate.model).statistic());
    }
    return statistic;
  });
}

}  // namespace gputopo::change_point
