#include "program/order.hpp"

#include <numeric>

namespace gputopo::program {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014): turns any seed into well-mixed bits.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

Stepping stepping(Order order, std::uint64_t seed, std::uint64_t position_count) {
  const std::uint64_t n = position_count;
  if (n <= 1 || order == Order::forward) return {0, n <= 1 ? 0U : 1U};
  if (order == Order::reverse) return {n - 1, n - 1};
  if (order == Order::skipping) return {0, seed % n};
  // Between 0.55 and 0.70 of n: near the golden section, where prefixes spread most evenly.
  const std::uint64_t low = n * 55 / 100;
  const std::uint64_t span = n * 15 / 100 + 1;
  std::uint64_t step = low + mix(seed) % span;
  while (step == 0 || std::gcd(step, n) != 1) ++step;
  return {mix(seed + 1) % n, step % n};
}

}  // namespace gputopo::program
