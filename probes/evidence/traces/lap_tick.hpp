// Whether a rise with size is no more than the clock that whole laps were timed with tells.
#pragma once

#include "change_point/trace.hpp"

namespace gputopo::evidence {

/// Whether values are whole ticks of a clock divided by their rows' loads, and no row beyond the footprint `fits` lies
/// farther above the mean of those up to it than a tick and a half: a lap that ends just behind a tick reads a tick
/// longer than one that ends before it, and so does each of its loads by a share. Where no row fits, `fits` lies below
/// the first one, and rows are held against the fastest. Of at most 64 values a row on average: more are no laps. Time
/// grows with the loads.
bool is_within_a_tick_of_laps(const change_point::Trace& trace, double fits);

}  // namespace gputopo::evidence
