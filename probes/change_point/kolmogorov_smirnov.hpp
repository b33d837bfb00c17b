// The two-sample Kolmogorov-Smirnov test.
//
// Statistic and asymptotic distribution: Smirnov, Ann. Math. Stat. 19, 1948. Exact distribution by counting lattice
// paths: Hodges, Arkiv for Matematik 3, 1958. Used on change points by Größler, "Capturing the Memory Topology of
// GPUs", TUM 2022, section 3.3.4. The p-values hold for a split fixed in advance; for one chosen by looking see
// split_test.hpp.
#pragma once

#include <cstddef>
#include <span>

namespace gputopo::change_point {

/// D: the greatest distance between the empirical distribution functions, in [0, 1]. Neither sample may be empty.
/// Time n log n in both together.
double ks_statistic(std::span<const double> a, std::span<const double> b);

/// P(D >= d) for samples of `m` and `n` values without ties (with ties: an upper bound), all lattice paths
/// counted in time m * n. Accurate to about 1e-12 relative, far into the tail.
double ks_exact_p_value(double d, std::size_t m, std::size_t n);

/// Kolmogorov's limit of the same probability.
double ks_asymptotic_p_value(double d, std::size_t m, std::size_t n);

/// The exact p-value for up to 10^6 lattice points, else the asymptotic one.
double ks_p_value(double d, std::size_t m, std::size_t n);

/// The critical value of the thesis (equation 3.3): reject 'same distribution' at `level` if D exceeds it.
double ks_critical_value(double level, std::size_t m, std::size_t n);

}  // namespace gputopo::change_point
