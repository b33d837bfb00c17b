// From findings to Estimates.
#pragma once

#include <string>
#include <string_view>

#include "topology/topology.hpp"

namespace gputopo::evidence {

Estimate measured(double value, std::string_view unit, std::string_view method, std::uint64_t samples);
Estimate from_api(double value, std::string_view unit);
Estimate not_supported(std::string_view unit, std::string_view note);
Estimate inconclusive(std::string_view unit, std::string_view method, std::string_view note, std::uint64_t samples = 0);

/// Of a measured value that may hold more than what is asked for: an upper bound, as far off as nothing passes: twice
/// as far as the end of its interval of 95 %.
void bound_above(Estimate& estimate, std::string_view why);
/// Of a value that something else takes a part of: a lower bound, likewise; inconclusive where that is none above zero.
void bound_below(Estimate& estimate, std::string_view why);
/// Why what an SM's loads take is a bound where the L2 may have sides.
inline constexpr std::string_view near_and_far = "the mean of lines that may lie near and far";

/// Every attribute that a cache has, as not supported: the GPU has no such cache, and `why` says how that is known.
void set_absent(Memory& memory, std::string_view why);

/// Every attribute of a cache that isn't there yet, as inconclusive.
void set_open(Memory& memory, std::string_view method, std::string_view why);

}  // namespace gputopo::evidence
