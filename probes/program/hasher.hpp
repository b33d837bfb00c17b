// FNV-1a over 64-bit words, low byte first: the same on every machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace gputopo::program {

class Hasher {
 public:
  void add(std::uint64_t word) {
    unsigned zeros = 8;  // bytes above the highest that isn't zero: of those the product alone is left
    for (; word != 0; word >>= 8, --zeros) state_ = (state_ ^ (word & 0xffU)) * prime;
    state_ *= powers[zeros];
  }
  std::uint64_t value() const { return state_; }

 private:
  static constexpr std::uint64_t prime = 0x100000001b3ULL;
  static constexpr std::array<std::uint64_t, 9> powers = [] {
    std::array<std::uint64_t, 9> p{1};
    for (std::size_t i = 1; i < p.size(); ++i) p[i] = p[i - 1] * prime;
    return p;
  }();
  std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

}  // namespace gputopo::program
