// Rows that something else than their footprint made slow.
#pragma once

#include <span>
#include <vector>

#include "change_point/isotonic.hpp"

namespace gputopo::change_point {

/// The rows, of which those that were disturbed count next to nothing, between their neighbours. A run of neighbours
/// was where it lies higher than later ones, and levels that only rise explain the others so much better, beyond the
/// scatter that these have, that a level of its own costs less (any would do, and one row in fifty begins a run). Where
/// that are many runs, here and there, layout decides what a row misses, and all stay as they are; so does the first
/// row, before which nothing is seen. Footprints ascend.
std::vector<Observation> without_disturbed(std::span<const Observation> rows, const LevelModel& model);

}  // namespace gputopo::change_point
