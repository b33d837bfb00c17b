// A pseudo-random generator whose numbers are the same with every compiler and standard library.
//
// xoshiro256** (Blackman & Vigna, "Scrambled linear pseudorandom number generators", ACM TOMS 47, 2021), seeded by
// SplitMix64 (Steele, Lea & Flood, OOPSLA 2014). The distributions of <random> are left to the implementation, so none
// of them is used here.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace gputopo::change_point {

class Random {
 public:
  explicit Random(std::uint64_t seed) {
    for (auto& word : state_) {
      seed += 0x9e3779b97f4a7c15ULL;
      std::uint64_t z = seed;
      z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
      z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
      word = z ^ (z >> 31U);
    }
  }

  std::uint64_t next() {
    const std::uint64_t result = rotate(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17U;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  /// Uniform in [0, 1), 53 bits.
  double uniform() { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }

  /// Uniform in 0 .. bound - 1; `bound` > 0. The bias of the multiplication is below 2^-32 for bounds below 2^32.
  std::uint64_t below(std::uint64_t bound) {
    return static_cast<std::uint64_t>((static_cast<Wide>(next()) * bound) >> 64U);
  }

  /// Fisher-Yates.
  template <class T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t i = values.size(); i > 1; --i) {
      std::swap(values[i - 1], values[static_cast<std::size_t>(below(i))]);
    }
  }

  /// Successes of `trials` with probability `probability`. Exact by waiting times where few are expected on either side
  /// (mean up to 32), a rounded normal beyond: meant for resampling, not for tails.
  std::uint64_t binomial(std::uint64_t trials, double probability);
  double normal();

 private:
  __extension__ using Wide = unsigned __int128;
  static std::uint64_t rotate(std::uint64_t x, unsigned k) { return (x << k) | (x >> (64U - k)); }
  std::array<std::uint64_t, 4> state_{};
};

}  // namespace gputopo::change_point
