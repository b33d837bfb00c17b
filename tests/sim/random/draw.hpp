// Random draws of a model: the same on every machine, each kind of number with its own distribution.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>

#include "device/sim/random.hpp"

namespace gputopo::test {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(sim::mix(seed)) {}

  std::uint32_t below(std::uint32_t bound) { return random_.below(bound); }
  /// Both ends included.
  std::uint32_t whole(std::uint32_t low, std::uint32_t high) { return low + below(high - low + 1); }
  bool chance(double probability) { return random_.unit() < probability; }
  double between(double low, double high) { return low + random_.unit() * (high - low); }
  /// Even over the orders of magnitude.
  double scaled(double low, double high) { return low * std::pow(high / low, random_.unit()); }
  /// Latencies come in halves of a cycle, so that messages are easy to read.
  double cycles(double low, double high) { return std::round(2 * between(low, std::max(low, high))) / 2; }
  template <class T>
  T one_of(std::initializer_list<T> list) {
    return *(list.begin() + below(static_cast<std::uint32_t>(list.size())));
  }

 private:
  sim::Random random_;
};

}  // namespace gputopo::test
