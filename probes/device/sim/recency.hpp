// The ways of a set from the most to the least recent one, four bits each: at most sixteen.
#pragma once

#include <bit>
#include <cstdint>

namespace gputopo::sim {

inline constexpr std::uint64_t ways_in_order = 0xfedcba9876543210ULL;

/// The order with `way`, which is in it, in front.
inline std::uint64_t with_in_front(std::uint64_t order, std::uint32_t way) {
  constexpr std::uint64_t ones = 0x1111111111111111ULL;
  if ((order & 0xf) == way) return order;
  // The lowest nibble that is zero after the XOR is the way's place (Warren, Hacker's Delight, 6-1).
  const std::uint64_t x = order ^ (ones * way);
  const auto at = static_cast<std::uint32_t>(std::countr_zero((x - ones) & ~x & (ones << 3)) & ~3);
  const std::uint64_t before = (std::uint64_t{1} << at) - 1;
  const std::uint64_t after = ~(before << 4 | 0xf);
  return (order & after) | (order & before) << 4 | way;
}

/// The way at a place of the order.
inline std::uint32_t way_at(std::uint64_t order, std::uint32_t place) {
  return static_cast<std::uint32_t>(order >> (4 * place) & 0xf);
}

}  // namespace gputopo::sim
