// Caches that settle slowly: a cache of n lines that replaces them at random, and still holds what others left there,
// lets go of it ever more slowly. Of a footprint that just fits, about n / t lines still miss after t laps (the missing
// ones, m, displace each other with probability 1 - m / n: dm / dt = -m^2 / n), which makes the cache seem smaller.
#pragma once

#include "experiments/size_search.hpp"

namespace gputopo::experiments {

/// `found`, or where the next footprint fits too after far more warm laps, what a sweep with so many laps finds.
Expected<change_point::Finding> settled(Session& session, const SearchSpec& spec, const change_point::Finding& found);

}  // namespace gputopo::experiments
