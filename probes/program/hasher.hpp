// FNV-1a over 64-bit words, low byte first: the same on every machine.
#pragma once

#include <cstdint>

namespace gputopo::program {

class Hasher {
 public:
  void add(std::uint64_t word) {
    for (int byte = 0; byte < 8; ++byte) {
      state_ ^= (word >> (8 * byte)) & 0xffU;
      state_ *= 0x100000001b3ULL;
    }
  }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

}  // namespace gputopo::program
