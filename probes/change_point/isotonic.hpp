// Levels that never fall: isotonic regression by pooling adjacent violators (Ayer et al., Ann. Math. Stat. 26, 1955;
// Barlow et al., Statistical Inference under Order Restrictions, 1972), of every tail of a series at once.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace gputopo::change_point {

/// One row's sufficient statistics: `sum` misses among `weight` loads, or the sum of `weight` latencies.
struct Observation {
  double control = 0;  ///< footprint or stride in bytes, positive, ascending over the rows
  double weight = 0;
  double sum = 0;
  double in_front = 0;  ///< further loads of the same walk, which something else answered

  double level() const { return sum / weight; }
  /// Loads of the walk for each byte of the footprint.
  double walked_by_control() const { return (weight + in_front) / control; }
};

/// Which likelihood scores a block of rows.
struct LevelModel {
  enum class Kind { binomial, gaussian };
  Kind kind = Kind::binomial;
  double variance = 1;  ///< of one value, cycles^2; Gaussian only
};

/// The log-likelihood of a constant level over `weight` and `sum`, up to terms that don't depend on the level. A share
/// of misses is held within 1e-9 of 0 and 1.
double level_log_likelihood(const LevelModel& model, double weight, double sum, double level);
/// The same at the level that makes it greatest; 0 for no weight.
double block_log_likelihood(const LevelModel& model, double weight, double sum);

/// The rows first .. end - 1 at one level.
struct Block {
  std::size_t first = 0;
  std::size_t end = 0;
  double weight = 0;
  double sum = 0;
  double walked_by_control = 0;  ///< sum of the rows'

  double level() const { return sum / weight; }
};

/// The isotonic regressions of rows i .. n - 1 for all i, in linear time. Keeps no reference to the rows.
class RisingLevels {
 public:
  RisingLevels(std::span<const Observation> rows, const LevelModel& model);

  std::size_t size() const { return blocks_.size(); }
  /// The first block of the regression of rows first .. n - 1; the next one begins where it ends.
  const Block& block(std::size_t first) const { return blocks_[first]; }
  /// Of the regression of rows first .. n - 1, which may be none.
  double log_likelihood(std::size_t first) const { return log_likelihoods_[first]; }
  /// The level that the rise ends at.
  double top() const { return top_; }
  /// By row: the regression of all rows.
  std::vector<double> fitted() const;

 private:
  std::vector<Block> blocks_;  // by first row
  std::vector<double> log_likelihoods_;
  double top_ = 0;
};

/// Pearson's chi-squared of the rows against `levels`, divided by rows - parameters; 1 where the rows scatter as loads
/// drawn independently would, more where whole rows differ. Never below 1.
double dispersion(std::span<const Observation> rows, std::span<const double> levels, const LevelModel& model,
                  std::size_t parameters);

/// What levels that only rise gain over one level for all rows, log-likelihood.
double gain_of_rising(std::span<const Observation> rows, const RisingLevels& rising, const LevelModel& model);

}  // namespace gputopo::change_point
