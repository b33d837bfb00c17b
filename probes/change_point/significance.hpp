// How likely is something as extreme where nothing changes?
#pragma once

#include <cstdint>
#include <functional>

namespace gputopo::change_point {

class Random;

/// The probability that a chi-squared variable with one degree of freedom exceeds `x`.
double chi_squared_tail(double x);

/// The permutation p-value of a statistic: `permuted` is called with a seeded stream and returns the statistic of one
/// random reordering. Ties with `observed` are broken at random (seeded), so that the p-value is uniform under 'no
/// change' even for counts, and reordering stops early once the p-value can't be small (Besag & Clifford, Biometrika
/// 78, 1991).
double permutation_p_value(double observed, std::uint64_t seed, int reorderings,
                           const std::function<double(Random&)>& permuted);

}  // namespace gputopo::change_point
