// Where does a constant level end and a rise begin? Profile likelihood of the last row before the rise.
//
// The model of a cache's miss curve: up to and including row tau the footprint fits, and the level (share of misses, or
// mean latency) is constant; beyond it the level never falls (isotonic regression by pooling adjacent violators, Ayer
// et al., Ann. Math. Stat. 26, 1955; Barlow et al., Statistical Inference under Order Restrictions, 1972), and it rises
// at least as fast as a full cache forces it to. For whatever replacement policy and hash, of a footprint s at most C
// bytes are resident when a lap begins, so a lap misses at least the share 1 - C/s. With C = control[tau] this lower
// bound makes tau identifiable from both sides: a tau too late has to explain misses by the constant level, a tau too
// early asks for misses that aren't there. It is also what tells a fixed extra miss (constant from some size on, the
// kernel's own constants) from a capacity miss (which must grow).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace gputopo::change_point {

/// One row's sufficient statistics: `sum` misses among `weight` loads, or the sum of `weight` latencies.
struct Observation {
  double control = 0;  ///< footprint in bytes, positive, ascending over the rows
  double weight = 0;
  double sum = 0;
  double unclear =
      0;  ///< loads that may or may not be misses, not in `sum`; the law of whole laps counts them as misses
};

/// Which likelihood scores a block of rows.
struct LevelModel {
  enum class Kind { binomial, gaussian };
  Kind kind = Kind::binomial;
  double variance = 1;  ///< of one value, cycles^2; Gaussian only
};

/// What a lap of a footprint that is too large must miss: at least `saturation` (1 - C/s) of its loads.
struct CapacityLaw {
  /// Share of loads that miss where nothing fits: 1 where every load goes to a line (or sector) of its own. Negative:
  /// unknown, the level that the rise ends at serves instead.
  double saturation = -1;
  /// The rows are whole laps, every line (or sector) as often as any other. Then the law holds for every row's count,
  /// not just for its mean, up to `missing_loads` a row.
  bool whole_laps = false;
  double missing_loads = 0;
  double bytes_a_load = 0;  ///< footprint over loads, whole laps only: a line at most

  /// The largest capacity that a footprint of `control` bytes overflows.
  double just_below(double control) const { return control - bytes_a_load; }
};

struct OnsetProfile {
  static constexpr double impossible = -1e300;
  /// By row tau: the greatest log-likelihood with the rise after tau. `impossible` where the level would fall after
  /// tau. The last row has none (there is nothing after it).
  std::vector<double> log_likelihood;
  /// The same where the level steps once before tau, as far as misses that aren't capacity's explain it, at the price
  /// of the choice of that step alone. For doubts, not for the estimate.
  std::vector<double> with_fixed_misses;
  std::vector<double> fitted;          ///< by row: the isotonic fit over all rows, tau unconstrained
  double null_log_likelihood = 0;      ///< one constant level over all rows
  double isotonic_log_likelihood = 0;  ///< of `fitted`
  double highest = impossible;         ///< the greatest of `log_likelihood`
  std::size_t last_before = 0;         ///< the estimate: the latest row within `slack` of `highest`
  double top_level = 0;                ///< the last block's level: what the rise leads to

  /// Twice the log-likelihood gained over 'no change', at least 0.
  double statistic() const;
};

/// Differences in log-likelihood below this don't move the estimate to an earlier row: one parameter's worth (AIC).
inline constexpr double slack = 1.0;

/// Needs at least two observations; time is linear in their number but for blocks that violate the lower bound.
OnsetProfile onset_profile(std::span<const Observation> rows, const LevelModel& model, const CapacityLaw& law = {});

/// The log-likelihood of a constant level over `weight` and `sum`, up to terms that don't depend on the level.
double block_log_likelihood(const LevelModel& model, double weight, double sum);

/// The same at a given level.
double level_log_likelihood(const LevelModel& model, double weight, double sum, double level);

}  // namespace gputopo::change_point
