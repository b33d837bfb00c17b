// The order of a walk's loads: one rule that the GPU's kernels and the simulator share.
#pragma once

#include <cstdint>

#include "program/program.hpp"

namespace gputopo::program {

/// Position of load k is (first + k * step) mod n: a full cycle over n positions since step and n are coprime.
/// Forward is step 1; reverse is step n - 1 from the end; skipping has the seed as its step; shuffled takes a step near
/// the golden section of n and a start, both from the seed, so neighbours in time lie far apart and a prefix is spread
/// evenly over the footprint.
struct Stepping {
  std::uint64_t first = 0;
  std::uint64_t step = 1;
};

Stepping stepping(Order order, std::uint64_t seed, std::uint64_t position_count);

/// The next position after `position`; both below position_count.
constexpr std::uint64_t advance(std::uint64_t position, std::uint64_t step, std::uint64_t position_count) {
  const std::uint64_t next = position + step;
  return next >= position_count ? next - position_count : next;
}

}  // namespace gputopo::program
