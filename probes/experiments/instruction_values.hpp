// What jumps to blocks of code say of one level: what a miss brings in and costs, and the curves of it.
#pragma once

#include <string_view>

#include "evidence/code/code_levels.hpp"
#include "evidence/looks/session.hpp"
#include "topology/topology.hpp"

namespace gputopo::experiments {

inline constexpr std::string_view instructions_method = "jumps";
inline constexpr std::string_view by_itself = "every block of code was missing by itself";

/// What one miss brings in, B: a bound where a block comes by itself, or the cache in front (nullptr: none), of whose
/// misses `in_front` says it, asks for as much.
Estimate fetched_sector(const evidence::CodeLevel& level, std::uint64_t block_bytes, const Estimate* in_front);

/// What jumps take when it has lost a block, less than when it hasn't.
Estimate penalty_between(const evidence::CodeLevel& level);

/// Where the levels are read off, what a miss brings in and costs.
void keep_curves(evidence::Session& session, const evidence::CodeLevel& level, std::string_view id,
                 const Estimate& sector, const Estimate& penalty);

}  // namespace gputopo::experiments
