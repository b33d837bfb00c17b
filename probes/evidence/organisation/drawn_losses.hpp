// Of sets that don't lose all lines of an overfull set in each round: whether what they lose repeats, as a tree of bits
// does, or is drawn, from all of the lines or all but the last one used.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "evidence/organisation/replacement.hpp"

namespace gputopo::evidence {

/// The looks of a run at the lines of one set, in order.
std::vector<Look> looks_at(const std::vector<Look>& run, const std::vector<std::uint64_t>& set);

/// Of looks at sets of a line more than `ways`, walked round and round; each run by itself.
Replacement judge_losses(std::span<const std::vector<Look>> runs, std::uint64_t ways, double false_miss);

/// How many looks lie between a loss and the next.
DecidingCurve gaps_curve(std::string_view memory, std::span<const std::vector<Look>> runs);

}  // namespace gputopo::evidence
