// What a trace's own shape says about how strictly a full cache must miss in it.
#pragma once

#include <span>

#include "change_point/finding.hpp"
#include "change_point/onset.hpp"

namespace gputopo::change_point {

/// Saturation from the distances between the misses of a row: where only every k-th load goes to a new sector, they are
/// multiples of k, and at most every k-th load can miss. Unknown (negative) with fewer than three distances, and for
/// rows that aren't whole laps: the loads that were kept may miss less than the others. Whole laps where the rows'
/// lengths grow in proportion to their footprints, as they do if every line is loaded equally often (up to a few loads
/// that the recorder dropped); a row that stops after a fixed number of loads is none. Time
/// grows with the loads.
CapacityLaw capacity_law(const Trace& trace, std::span<const Observation> rows, double threshold_cycles);

}  // namespace gputopo::change_point
