// Instruction caches by the names of their places.
#pragma once

#include <span>
#include <vector>

#include "evidence/code/code_levels.hpp"
#include "evidence/looks/session.hpp"
#include "experiments/instruction_fetch.hpp"

namespace gputopo::experiments {

/// One cache on the path of instructions as it was measured, before its name is known.
struct InstructionCache {
  evidence::CodeLevel level;
  evidence::CacheFacts facts;
  Memory memory;
};

/// Lengths of code that come from each, the nearest first, and from the L2 behind them.
std::vector<FetchLevel> fetch_levels(const device::DeviceInfo& info, std::span<const InstructionCache> caches,
                                     evidence::Findings& findings);

/// Where it isn't known how many there are.
void leave_instruction_caches_open(evidence::Findings& findings, std::string_view why);

/// Puts them, the nearest first, and what was kept of them where they belong; and says of those that constants lie in
/// as well which of the constants' caches each is, and what was measured of that one alone.
void name_instruction_caches(evidence::Session& session, std::vector<InstructionCache> caches,
                             evidence::Findings& findings);

}  // namespace gputopo::experiments
