// The constant banks of several modules as one stretch of memory: what a cache larger than a bank is walked by.
#pragma once

#include <cstdint>
#include <vector>

#include "program/program.hpp"

namespace gputopo::evidence {

/// A forward walk by one lane, as if banks of `bank_bytes` followed each other from its buffer on: one walk, or two,
/// for each bank that it comes through. What would end behind a bank has its last load by itself, over `load_bytes`.
std::vector<program::Walk> over_banks(const program::Walk& walk, std::uint64_t bank_bytes, std::uint64_t load_bytes);

/// Gives a program over constants the banks that hold its first `bytes`, the first of which it has.
void add_banks(program::Program& p, std::uint64_t bank_bytes, std::uint64_t bytes);

}  // namespace gputopo::evidence
