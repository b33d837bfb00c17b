// How often each latency was seen.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "program/program.hpp"

namespace gputopo::sim {

/// Counts latencies: small ones by index, rare large ones in a map. One serves all phases of a program, most of which
/// see a latency or two.
class LatencyCounter {
 public:
  void add(std::uint32_t latency_cycles) {
    if (small_.empty()) small_.resize(4096);
    if (latency_cycles >= small_.size()) {
      ++large_[latency_cycles];
    } else if (small_[latency_cycles]++ == 0) {
      seen_.push_back(latency_cycles);
    }
  }
  /// What was counted, in the order of latencies; nothing is afterwards.
  std::vector<program::LatencyCount> take_counts() {
    std::sort(seen_.begin(), seen_.end());
    std::vector<program::LatencyCount> result;
    for (const std::uint32_t latency : seen_) result.push_back({latency, std::exchange(small_[latency], 0)});
    for (const auto& [latency, count] : large_) result.push_back({latency, count});
    seen_.clear();
    large_.clear();
    return result;
  }

 private:
  std::vector<std::uint64_t> small_;
  std::vector<std::uint32_t> seen_;  // of the small ones
  std::map<std::uint32_t, std::uint64_t> large_;
};

}  // namespace gputopo::sim
