// How likely a line size is, by the misses of walks at several strides (traces.hpp, find_line_size).
#pragma once

#include <vector>

#include "change_point/isotonic.hpp"

namespace gputopo::evidence {

/// Misses by footprint (B), of one stride (B); rows ascend.
struct StrideCurve {
  double stride = 0;
  std::vector<change_point::Observation> rows;
};

struct StrideCurves {
  std::vector<StrideCurve> curves;  ///< ascending stride
  double capacity = 0;              ///< B, the last footprint that fits, for the densest walk
};

/// The log-likelihood of a line of that many bytes, whatever its sectors, the index of its set and how the walks'
/// footprints end. Strides up to the line are dense: they miss on the same lines. Of longer ones some go to a part of
/// the sets, which overflow where all do, and others fit where dense ones don't. Time grows with the rows of all
/// strides.
double log_likelihood_of_line(double line_bytes, const StrideCurves& data);

}  // namespace gputopo::evidence
