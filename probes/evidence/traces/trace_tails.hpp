// Whether slow loads are of a level of memory, or of hits that something else delays.
#pragma once

#include <cstddef>

#include "change_point/trace.hpp"

namespace gputopo::evidence {

/// Whether loads of the rows after the first `fitting` become ever rarer from the middle of these rows' hits on, which
/// lie below the threshold: what interrupts a load costs it anything from nothing on, while a level's loads take as
/// long as it takes, and fewer lie between it and the hits. That is held against a density that rises once, wherever
/// (Grenander, Skandinavisk Aktuarietidskrift 39, 1956). Not so where slow loads lie the farther from their row's
/// fastest the more they are, as means over laps that miss ever more often: those of two misses are rarer than those of
/// one. Time n log n in the loads.
bool do_slow_loads_trail_off(const change_point::Trace& trace, std::size_t fitting, double threshold_cycles);

}  // namespace gputopo::evidence
