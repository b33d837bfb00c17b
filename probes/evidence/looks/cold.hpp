// Bytes that the nearest cache of a path can't have and the level behind it has: where 'miss' is known by construction.
#pragma once

#include "evidence/looks/findings.hpp"
#include "evidence/looks/session.hpp"

namespace gputopo::evidence {

struct Cold {
  program::Program program;  ///< walks that bring this about; what is looked at goes behind them
  std::uint64_t first_byte = 0;
  std::uint64_t bytes = 0;  ///< may be less than asked for: a constant bank is small
};

/// Global memory: a region that no walk has touched, brought into the L2 by loads past L1. Constants: the near end of a
/// bank, walked before what pushes it out was, several times: more than a constant L1 holds.
Cold cold_region(Session& session, const CachePath& path, std::uint64_t bytes, std::string label,
                 PushedBy pushed_by = PushedBy::half_a_bank);

}  // namespace gputopo::evidence
