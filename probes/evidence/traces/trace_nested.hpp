// Traces whose larger footprints have the same slow loads as smaller ones, and some more: lines that are farther away.
#pragma once

#include <span>

#include "change_point/isotonic.hpp"
#include "change_point/trace.hpp"

namespace gputopo::evidence {

/// Whether slow loads (`sum` of a row's `weight`) rise as those of lines do that are slow in every footprint: a larger
/// one has more of them by the lines alone that it adds, all, none or some of these, where loads that miss by
/// themselves, of any share that rises from row to row, scatter by more. What a footprint is too large for pushes out
/// lines that smaller ones keep, and more loads become slow than it adds. Rows ascend, each of more loads than the one
/// before: false where they aren't, and nothing says what a footprint adds.
bool are_slow_loads_nested(std::span<const change_point::Observation> rows);

/// The same by places: whether loads slower than `threshold_cycles` lie where they lie in every row, in walks over the
/// same lines in order, of which larger ones go on where smaller ones end, in one or several whole laps. False where
/// that can't be told. Time grows with the loads.
bool do_slow_loads_keep_their_places(const change_point::Trace& trace, double threshold_cycles);

}  // namespace gputopo::evidence
