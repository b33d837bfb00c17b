// What a cross-check runs: footprints around a capacity, and programs that record every load.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "evidence/looks/session.hpp"

namespace gputopo::experiments {

using evidence::CachePath;
using evidence::Session;

/// One footprint to try. Programs of the same `shape` differ in their loads alone, so that what else they count (kernel
/// parameters, the program itself, results) is the same.
struct PlannedCheck {
  enum class Shape {
    recorded,  ///< cold and warm laps, all recorded in one phase: every load's latency is known
    measured,  ///< as experiments measure: unrecorded warm-up, then a recorded lap
    sampled,   ///< uncounted launches bring the caches into a state; the counted one samples it
  };
  Shape shape = Shape::recorded;
  std::uint64_t footprint_bytes = 0;
  std::uint32_t carve_out_percent = 0;
  program::Batch before;        ///< what runs first and isn't counted
  program::Batch launch;        ///< what is checked: programs that go into one launch
  std::uint32_t modules = 1;    ///< kernels that run side by side
  std::size_t warm_phases = 0;  ///< recorded ones that bring the cache into its steady state: no say in its size
  bool empty = false;           ///< a single load: what it counts beyond that load belongs to the launch itself
};

/// Footprints for a cache of `capacity_bytes`, ascending: well below, line by line around, and well above it; whole
/// multiples of `stride_bytes`, at most `limit_bytes`.
std::vector<std::uint64_t> check_footprints(std::uint64_t capacity_bytes, std::uint64_t stride_bytes,
                                            std::uint64_t limit_bytes);

/// Caches that each SM has to itself, at several carve-outs for those that share their array with shared memory.
std::vector<PlannedCheck> plan_sm_cache(Session& session, const CachePath& path, std::uint64_t capacity_bytes,
                                        std::uint64_t stride_bytes, bool carve_outs);

/// Constants, before and after a stretch of code long enough to push them out of a cache they share with code; and
/// those of several modules, where one module's don't fill a cache of `capacity_bytes`. `front_line_bytes` is a line of
/// the cache in front.
std::vector<PlannedCheck> plan_constant_l1_5(Session& session, std::uint64_t capacity_bytes, std::uint64_t line_bytes,
                                             std::uint64_t front_line_bytes);

/// Jumps over code below and above a capacity, downwards, so that nothing runs ahead of them.
std::vector<PlannedCheck> plan_instructions(Session& session, std::string_view id, std::uint64_t capacity_bytes,
                                            std::uint64_t line_bytes);

/// Samples of footprints below and above the L2's capacity.
std::vector<PlannedCheck> plan_l2(Session& session, std::uint64_t capacity_bytes, std::uint64_t stride_bytes);

/// Cold regions of growing size, after everything else was pushed out of an L2 of `l2_bytes`: every SM reads one, so
/// that the traffic is large against that of the rest of the system.
std::vector<PlannedCheck> plan_device_memory(Session& session, std::uint64_t l2_bytes, std::uint64_t stride_bytes);

}  // namespace gputopo::experiments
