// How constants get out of the caches in front of the L2, and what their loads take then.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "evidence/lines/lost_lines.hpp"
#include "evidence/looks/findings.hpp"
#include "evidence/looks/latency.hpp"
#include "evidence/looks/session.hpp"

namespace gputopo::evidence {

/// Laps of a cache that a group of SMs shares: it isn't empty at launch, and one that replaces lines at random takes
/// many laps to let go of what was there.
inline constexpr std::uint32_t settling_laps = 24;
inline constexpr std::uint64_t coarse_stride_bytes = 256;  ///< the longest line of a constant cache there has been

/// Constants get out of the cache: the bank's first `near_bytes` by the bytes behind them, by code, by the banks of
/// other modules and by the first bytes of one more.
struct Eviction {
  std::uint64_t near_bytes = 0, far_bytes = 0, code_bytes = 0;
  std::uint32_t other_banks = 0;
  std::uint64_t part_bytes = 0;  // of a bank
  std::uint64_t bytes(std::uint64_t bank) const { return far_bytes + code_bytes + other_banks * bank + part_bytes; }
};

/// Ever stronger: other constants of the bank alone, then other banks and code as well, in all no more than half of
/// what the L2 has near, so that what is pushed out of this cache is found there; of an L2 that leaves no room for
/// other banks three quarters at last, so that most of it is.
std::vector<Eviction> evictions_of(const device::DeviceInfo& info, std::uint64_t near,
                                   std::optional<std::uint64_t> near_l2_bytes);

/// Looks at constants a stride apart that were pushed out by a load every `every_line` bytes, from one SM, as near to
/// each line, and as far from it, as in a circle; from `first_byte` on, less than a stride. Loads past all SMs' caches
/// may come before. Errors: the session's.
Expected<LooksByLine> time_cold(Session& session, std::uint64_t stride, std::uint64_t every_line, const Eviction& e,
                                const program::Walk* past = nullptr, std::uint64_t first_byte = 0);

/// The same looks, `past` in between, at constants that SM `by_sm` loaded right before, after its caches had lost them,
/// too: where the pushing may have cost the level behind. Errors: the session's.
Expected<LooksByLine> time_brought(Session& session, std::uint64_t stride, std::uint64_t every_line, const Eviction& e,
                                   const program::Walk& past, std::uint32_t by_sm);

/// What loads took that a cache in front had lost, before and after something pushed their lines out further.
struct PushedLooks {
  Histogram before, after;
};
/// Of each line as many looks before as after, of `lost_from_cycles` or longer: a cache in front that replaces at
/// random has most lines most of the time, each at a place of its own.
PushedLooks same_places(const LooksByLine& before, const LooksByLine& after, double lost_from_cycles);

/// Looks from SMs all over the chip: the bank lies in one place of the L2, which may be near or far.
Expected<LostBySm> time_lost_constants(Session& session, const CacheFacts& l1, const Eviction& e);

}  // namespace gputopo::evidence
