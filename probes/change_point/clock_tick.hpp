// The tick of the clock that a trace was timed with.
#pragma once

#include <span>

namespace gputopo::change_point {

/// What the clock of these latencies counts in, in their unit: any real number, as of a timer of 24 MHz that is read in
/// nanoseconds. 0 where no tick shows that is coarser than the values are written. `sorted` ascends; values are from 0
/// to 1e12.
///
/// A latency between two ticks reads as either, so the smallest gap between readings is a tick, and all of them are
/// multiples of it. Values that have nothing to do with a tick q and are written to r fall on multiples with
/// probability r / q each: it counts where as many do so with at most 10 % (too lenient a test costs an interval of a
/// tick, too strict a one a wrong median). Time grows with the values.
double clock_tick(std::span<const double> sorted);

}  // namespace gputopo::change_point
