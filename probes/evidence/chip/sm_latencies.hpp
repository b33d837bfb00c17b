// How each SM sees the L2: what hits of the same lines take from it.
#pragma once

#include <vector>

#include "evidence/looks/session.hpp"

namespace gputopo::evidence {

inline constexpr std::uint64_t seen_line_bytes = 128;  ///< from one line that SMs are compared by to the next

/// By SM, the least that each of `lines` lines took in so many looks, cycles as timed. A program an SM, so that each
/// takes far less than a process that shares the GPU gets at a time. Errors: Session::run's.
Expected<std::vector<std::vector<double>>> latencies_by_sm(Session& session, std::size_t lines,
                                                           std::size_t repetitions);

/// By SM, what each line's loads take longer than for the SM that is nearest to it: where it lies for all of them, a
/// TLB's miss, a line that others pushed out, memory behind the L2 are the same for all.
std::vector<std::vector<double>> beyond_nearest(std::vector<std::vector<double>> by_sm);

}  // namespace gputopo::evidence
