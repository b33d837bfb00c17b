// How a trace's footprints were walked, by its own shape.
#pragma once

#include <span>

#include "change_point/trace.hpp"
#include "evidence/inference/capacity.hpp"

namespace gputopo::evidence {

/// A footprint that fits misses on isolated loads, others' lines and strangers: nobody counted those of somebody else's
/// GPU, so it is as if one of two hundred loads that hit for sure had been slow.
inline constexpr Contamination foreign_contamination{0.005, 1e-4, 200};

/// Whether several loads in a row go to a line, of which one at most can miss, by a sweep's saturation.
inline bool goes_several_times_to_a_line(double saturation) {
  return saturation > 0 && saturation <= 0.5;
}

/// Whole laps where the rows' lengths grow in proportion to their footprints, as they do if every line is loaded
/// equally often (up to a few loads that the recorder dropped); a row that stops after a fixed number of loads is none,
/// and the loads that were kept may miss less than the others. Saturation from the distances between the misses of a
/// row: where only every k-th load goes to a new sector, they are multiples of k, and at most every k-th load can miss.
/// Unknown (negative) with fewer than three distances, and for rows that aren't whole laps.
Sweep sweep_of(const change_point::Trace& trace, std::span<const change_point::Observation> rows,
               double threshold_cycles);

}  // namespace gputopo::evidence
