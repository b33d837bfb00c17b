// A path as one warp of one SM sees it.
#pragma once

#include <cstdint>
#include <vector>

#include "device/sim/cache_unit.hpp"
#include "device/sim/distance.hpp"

namespace gputopo::sim {

struct Route {
  struct Tlb {
    CacheArray* array;
    std::uint32_t page_shift;
    double miss_cycles;
    std::uint64_t latest_page;  ///< of this route's last load: asking for it again would change nothing
  };
  struct Station {
    CacheUnit* unit;  ///< null: device memory
    double latency_cycles, far_latency_cycles;
    std::uint32_t tag_class;
    Writes writes;  ///< of its cache
    bool probe;     ///< looked into, never changed
    bool beyond;    ///< beyond the SMs: its latency depends on the place on the chip and on the SM clock
    std::vector<Tlb> tlbs;
    bool is_last;               ///< a cache behind which lies the memory, without a TLB
    std::uint32_t piece_shift;  ///< loads of addresses that are equal above it ask for one line here, and for one page
  };
  std::vector<Station> stations;
  std::uint32_t partition = 0;
  Distances distances;
  std::uint64_t tlb_misses = 0;
  bool by_lines = false;  ///< touching lines rather than sectors has the same outcome
  bool left_sm = false;   ///< the last timed load was served beyond the SMs

  /// How often loads along this route (and others through its caches) brought something in.
  std::uint64_t changes() const {
    std::uint64_t sum = tlb_misses;
    for (const Station& s : stations) sum += s.unit == nullptr ? 0 : s.unit->changes();
    return sum;
  }
};

}  // namespace gputopo::sim
