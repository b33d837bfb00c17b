// The L2's sector, by words in a row that nobody has loaded before.
#pragma once

#include <vector>

#include "evidence/looks/findings.hpp"
#include "evidence/looks/session.hpp"

namespace gputopo::evidence {

/// Words that were looked at (Findings::l2_cold_words) are so many bytes apart.
inline constexpr std::uint64_t cold_word_bytes = 4;

/// Of such words one of each line that a cache behind might have brought as one: those before it opened its row of
/// DRAM.
std::vector<double> cold_lines_in_a_row(const std::vector<double>& cold_words);

/// States the L2's `sector_size`: which words miss it, as `levels` tell. `inconclusive` where some are served by
/// neither of both, or parts of a sector by a cache nearer than memory.
void state_l2_sector(Session& session, Findings& findings, const Levels& levels);

}  // namespace gputopo::evidence
