// Rows that fit: the contamination, known from loads that were hits by construction, and perhaps a fixed number of
// misses in each lap from some row on.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "change_point/isotonic.hpp"
#include "evidence/inference/capacity.hpp"

namespace gputopo::evidence {

class FittingRows {
 public:
  /// Keeps references to both. Rows ascend; `rising` are the levels that only rise of all of them.
  FittingRows(std::span<const change_point::Observation> rows, const Sweep& sweep,
              const change_point::RisingLevels& rising);

  struct Fit {
    double log_likelihood = 0;
    double base = 0;                                                   ///< the level of what fits, but for fixed misses
    double fixed_misses = 0;                                           ///< a lap
    std::size_t fixed_from = std::numeric_limits<std::size_t>::max();  ///< the row that they begin with
  };

  /// Of the first `count` rows.
  Fit operator()(std::size_t count) const;

 private:
  // Of the rows from a step on: as many misses in each lap, and which of all misses they are.
  struct Fixed {
    double a_lap = 0, misses = 0;
    double log_arrangements = 0;
  };
  struct Step {
    std::size_t first = 0;
    std::vector<Fixed> through;  // this row and any later one; empty where laps aren't whole
  };

  Fit at_one_level(std::size_t count) const;
  Fit at_two_levels(std::size_t first, std::size_t count) const;
  Fit with_fixed(const Step& step, std::size_t count) const;
  void count_fixed(Step& step) const;
  double cost(std::size_t rows) const;
  double most_fixed(std::size_t first) const;

  std::span<const change_point::Observation> rows_;
  const Sweep& sweep_;
  std::vector<change_point::Observation> sums_;  // of the first 0, 1, 2, ... rows
  std::vector<double> laps_{0};                  // in these
  std::vector<Step> steps_;
  double reference_ = 0;
};

}  // namespace gputopo::evidence
