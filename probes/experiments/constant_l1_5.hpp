// The second level behind the constant L1, which some call L1.5: between the L1 and the L2 in latency, shared by a
// group of SMs, serving instructions too on many GPUs.
#pragma once

#include "experiments/l2.hpp"
#include "experiments/modes.hpp"
#include "experiments/session.hpp"
#include "experiments/sm_cache.hpp"
#include "topology/topology.hpp"

namespace gputopo::experiments {

inline constexpr CachePath constant_l1_5_path{"constant_l1_5", "Constant L1.5 cache", program::Path::constant,
                                              slot_constant};

struct ConstantL15 {
  Memory memory;
  double threshold_cycles = 0;         ///< a timed load at or above it went past this cache
  std::uint64_t line_bytes = 0;        ///< 0 where there is no such cache
  std::uint64_t front_line_bytes = 0;  ///< line of the constant L1
  std::uint32_t settling_laps = 0;     ///< until what lay here at launch has left even a cache of random replacement
};

struct ConstantLevel {
  Mode timed;  ///< loads that miss L1 and hit here, the clock pair included
  double latency_cycles = 0;
  double threshold_cycles = 0;  ///< a timed load at or above it went further
};

/// The level that serves constants which miss the L1. Of `l1` the hits, the threshold and the capacity matter.
Expected<ConstantLevel> measure_constant_level(Session& session, const SmCache& l1, std::uint64_t stride_bytes);

/// `l1` is the constant L1 as measured, `l2` what lies behind. One module's constants reach 64 KiB: where all of them
/// fit, the size is a lower bound.
Expected<ConstantL15> measure_constant_l1_5(Session& session, const SmCache& l1, const L2& l2);

}  // namespace gputopo::experiments
