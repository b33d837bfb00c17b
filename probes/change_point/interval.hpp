// How far may the estimated row be off? The likelihood-ratio set and a seeded bootstrap.
#pragma once

#include <cstdint>
#include <span>

#include "change_point/onset.hpp"

namespace gputopo::change_point {

/// Rows, both ends included.
struct RowRange {
  std::size_t first = 0;
  std::size_t last = 0;
};

/// All rows whose log-likelihood is within 1.92 (half of chi-squared's 95 % point at one degree of freedom) times
/// `scale` of the greatest, joined to one range that contains the estimate. Time grows with the rows.
RowRange likelihood_ratio_set(const OnsetProfile& profile, double scale);

struct Resampled {
  RowRange range;        ///< 2.5 % to 97.5 % of the resampled estimates
  double agreement = 0;  ///< share of them that are the estimate itself
};

/// Parametric bootstrap (Efron & Tibshirani, An Introduction to the Bootstrap, 1993): redraws every row near the
/// estimate from the fitted levels (never below what the law demands) and estimates
/// again. Rows far before count as one block, rows far after keep their
/// levels, so the cost doesn't grow with the sweep.
Resampled bootstrap(std::span<const Observation> rows, const OnsetProfile& profile, const LevelModel& model,
                    const CapacityLaw& law, std::uint64_t seed);

}  // namespace gputopo::change_point
