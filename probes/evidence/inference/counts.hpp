// What inference sees: how many of a walk's loads missed. From the chase, from residency, from counters alike.
#pragma once

#include <cstdint>
#include <vector>

namespace gputopo::evidence {

/// One recorded walk.
struct Count {
  double footprint_bytes = 0;
  std::uint64_t loads = 0;
  std::uint64_t misses = 0;
  std::uint32_t launch = 0;    ///< walks of one footprint that ran apart differ in this
  std::uint64_t in_front = 0;  ///< further loads, which a cache in front answered

  double share() const { return loads == 0 ? 0 : static_cast<double>(misses) / static_cast<double>(loads); }
};

using Counts = std::vector<Count>;

/// What a kind of load is counted as though it is another: what Levels found on loads that were known.
struct Contamination {
  double false_miss = 0;
  double false_hit = 0;
  double loads = 0;  ///< that `false_miss` rests on
};

}  // namespace gputopo::evidence
