// An L2 as the strided product sees it: which bytes pass between it and memory.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "device/sim/recency.hpp"
#include "program/workload.hpp"

namespace gputopo::sim {

/// Lines and sectors are powers of two, 1 to 32 sectors a line. Lines with dirty and valid parts of `sector_bytes`
/// each, 16 ways, least recently used. A load brings `fetch_bytes`; a store writes nothing until its line has to leave,
/// and what it left of a sector is read then.
class TrafficCache {
 public:
  TrafficCache(std::uint64_t size_bytes, std::uint32_t line_bytes, std::uint32_t sector_bytes);

  /// What one of that size takes at most.
  static std::uint64_t bytes(std::uint64_t size_bytes, std::uint64_t line_bytes) {
    return (size_bytes / line_bytes / ways + 1) * sizeof(Set);
  }

  void load(std::uint64_t address, std::uint32_t fetch_bytes);
  /// Of a whole sector, or of a part of it.
  void store(std::uint64_t address, bool whole);
  /// Everything leaves.
  void flush();
  /// What passed since the last call.
  program::MemoryTraffic take();

 private:
  struct Line {
    std::uint32_t valid = 0, dirty = 0, partial = 0;  ///< a bit a sector
  };
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  static constexpr std::uint32_t ways = 16;
  struct Set {
    Set() { numbers.fill(none); }
    std::uint64_t order = ways_in_order;  ///< of use
    std::array<std::uint64_t, ways> numbers;
    std::array<Line, ways> lines;
  };
  struct Place {
    Set* set = nullptr;
    std::uint32_t way = 0;
  };

  Line& line_of(std::uint64_t address);
  Set& set_of(std::uint64_t number);
  Place find(std::uint64_t number);
  std::uint32_t sector_of(std::uint64_t address) const {
    return static_cast<std::uint32_t>(address >> sector_shift_) & ((1U << (line_shift_ - sector_shift_)) - 1);
  }
  void leave(Line& line);

  std::uint32_t line_shift_, sector_shift_;
  std::vector<Set> sets_;
  std::array<Place, 4> recent_;  ///< by place among neighbours: vectors are walked line by line
  program::MemoryTraffic seen_;
};

}  // namespace gputopo::sim
