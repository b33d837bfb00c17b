// How sure the capacity's posterior is, and how often it is right: over caches whose capacity is known.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace gputopo::change_point::testing {

/// Answers whose confidence lay in one tenth.
struct Bin {
  int said = 0, right = 0;
  double confidence_sum = 0;
};

struct Calibration {
  int caches = 0;
  int measured = 0;                        ///< those that got a value
  int covered_95 = 0;                      ///< whose 95 % interval holds the capacity
  int wide = 0, covered_50 = 0;            ///< whose 50 % interval is more than a row, and those of them that hold it
  double within_50 = 0;                    ///< the sum of what their rows have of the probability: half or more
  std::array<Bin, 10> by_confidence = {};  ///< right: the value is the capacity's row

  /// The most that the mean confidence lies above the share that is right, beyond two standard errors of that, of bins
  /// from 0.5 on with 20 answers.
  double overstated() const;
  /// Answers whose confidence lay from 0.5 to 0.9.
  Bin half_sure() const;
};

/// Caches `first` to `first + count - 1` of random_cache(), each walked with a load a line, counted as an experiment
/// counts: by a threshold halfway, with the share of strangers known from a thousand hits.
Calibration calibrate(std::uint64_t first, std::uint64_t count);

/// A table for the docs, and a diagram of reliability: share that is right over the confidence.
std::string table_of(const Calibration& calibration);
std::string diagram_of(const Calibration& calibration);

}  // namespace gputopo::change_point::testing
