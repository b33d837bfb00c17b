// Which lines of the L2 lie in slices of one place, by loads of each from SMs all over the chip.
#pragma once

#include <cstdint>
#include <vector>

#include "error/error.hpp"
#include "evidence/chip/slice_places.hpp"
#include "evidence/looks/findings.hpp"
#include "evidence/looks/session.hpp"

namespace gputopo::evidence {

struct SliceMap {
  SlicePlaces places;              ///< of the first lines of l2_path's slot
  std::uint64_t line_bytes = 0;    ///< of which each is one
  std::vector<std::uint32_t> sms;  ///< that loaded them, of one side of the L2 where it has sides
  std::uint64_t samples = 0;       ///< loads that were looked at
};

/// `sets` must be known (`why_open` empty). Errors: those of Session::run.
Expected<SliceMap> map_slices(Session& session, const Findings::L2Sets& sets, std::uint64_t line_bytes);

}  // namespace gputopo::evidence
