// How likely is a split as good as the best one where nothing changes? Permutation tests, calibrated for the choice.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "change_point/onset.hpp"

namespace gputopo::change_point {

class Random;

/// The probability that a chi-squared variable with one degree of freedom exceeds `x`.
double chi_squared_tail(double x);

/// Pearson's chi-squared of the rows against `levels`, divided by rows - parameters; 1 where the rows scatter as loads
/// drawn independently would, more where whole rows differ. Never below 1. Gaussian and binomial models.
double dispersion(std::span<const Observation> rows, std::span<const double> levels, const LevelModel& model,
                  std::size_t parameters);

/// The permutation p-value of a statistic: `permuted` is called with a seeded stream and returns the statistic of one
/// random reordering. Ties with `observed` are broken at random (seeded), so that the p-value is uniform under 'no
/// change' even for counts, and reordering stops early once the p-value can't be small (Besag & Clifford, Biometrika
/// 78, 1991).
double permutation_p_value(double observed, std::uint64_t seed, int reorderings,
                           const std::function<double(Random&)>& permuted);

/// One family of counts (or means) over the same rows.
struct Candidate {
  std::span<const Observation> rows;
  const OnsetProfile* profile = nullptr;
  LevelModel model;
};

/// P-value of the largest onset statistic among the candidates against 'rows are exchangeable', which makes it valid
/// for a boundary and a row that were both chosen by looking. Where even Bonferroni's bound on the likelihood ratio,
/// scaled by the rows' dispersion, is below 1e-4, that bound is the answer and nothing is permuted. Time grows with the
/// rows, times at most 199 reorderings.
double onset_p_value(std::span<const Candidate> candidates, std::uint64_t seed);

}  // namespace gputopo::change_point
