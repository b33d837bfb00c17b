// The L2's sector, by words in a row that nobody has loaded before.
#pragma once

#include "evidence/looks/findings.hpp"
#include "evidence/looks/session.hpp"

namespace gputopo::evidence {

/// Words that were looked at (Findings::l2_cold_words) are so many bytes apart.
inline constexpr std::uint64_t cold_word_bytes = 4;

/// States the L2's `sector_size`: which words miss it, as `levels` tell. `inconclusive` where some are served by
/// neither of both, or parts of a sector by a cache nearer than memory.
void state_l2_sector(Session& session, Findings& findings, const Levels& levels);

}  // namespace gputopo::evidence
