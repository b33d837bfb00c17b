// The simulator's random numbers: the same bits from every compiler, unlike the standard library's distributions.
#pragma once

#include <cstdint>

namespace gputopo::sim {

/// A bijective mixer of 64 bits (SplitMix64's finaliser; Steele, Lea and Flood 2014).
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// SplitMix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t bits() {
    const std::uint64_t value = mix(state_);
    state_ += 0x9e3779b97f4a7c15ULL;
    return value;
  }
  /// Uniform in [0, bound); bound below 2^32. The bias, below bound / 2^32, doesn't matter here.
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(((bits() >> 32) * bound) >> 32); }
  /// Uniform in [0, 1), 53 bits.
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  /// Uniform in [low, high); draws nothing where both are equal.
  double within(double low, double high) { return low == high ? low : low + unit() * (high - low); }
  /// Nearly normal, mean 0, standard deviation 1, within +/- 3.5: the sum of four uniforms of 16 bits.
  double normal() {
    const std::uint64_t b = bits();
    const std::uint64_t sum = (b & 0xffff) + (b >> 16 & 0xffff) + (b >> 32 & 0xffff) + (b >> 48);
    return (static_cast<double>(sum) / 65535.0 - 2.0) * 1.7320508075688772;
  }

 private:
  std::uint64_t state_;
};

}  // namespace gputopo::sim
