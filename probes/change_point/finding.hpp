// What goes into the statistics and what comes out. Plain data: no GPU, no I/O.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gputopo::change_point {

/// One setting of the controlled quantity (a size or stride in bytes) and what was seen there (latencies in cycles).
struct Row {
  double control = 0;
  std::vector<double> values;
};

/// Rows in ascending order of `control`. Rows may differ in length.
struct Trace {
  std::vector<Row> rows;
};

enum class Verdict {
  value,         ///< the quantity itself
  lower_bound,   ///< at least `value`: nothing changes within the sweep
  upper_bound,   ///< at most `value`: the change lies before the first row
  inconclusive,  ///< the data doesn't decide; `reason` says why
};

struct Finding {
  Verdict verdict = Verdict::inconclusive;
  double value = 0;       ///< in the unit of Row::control (or cycles, for latencies); meaningless if inconclusive
  double low = 0;         ///< 95 % interval, lower end
  double high = 0;        ///< 95 % interval, upper end
  double confidence = 0;  ///< in [0, 1]: follows the data, not the sweep's length
  double p_value = 1;     ///< of 'no change at all', calibrated for a split chosen by looking
  std::uint64_t samples = 0;
  std::string method;  ///< what decided, such as "binomial_isotonic" or "geometric_ks"
  std::string reason;  ///< one sentence, for anything that isn't Verdict::value
};

struct Options {
  enum class Method { standard, thesis };
  Method method = Method::standard;
  double level = 0.05;  ///< of the test for 'any change'
  std::uint64_t seed = 1;
};

/// The largest control value before capacity misses set in ("the largest footprint that fits"). Time grows with the
/// loads, and with the square of the rows where each has one load and they rise all the way.
Finding find_size(const Trace& trace, const Options& options);

}  // namespace gputopo::change_point
