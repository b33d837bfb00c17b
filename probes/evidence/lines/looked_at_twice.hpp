// Lines that the L2 lost, each looked at twice: what the first look takes more than the second has no distance in it,
// wherever the line lies.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "evidence/inference/levels.hpp"
#include "evidence/looks/session.hpp"
#include "evidence/looks/walks.hpp"

namespace gputopo::evidence {

/// Lines that a walk over `flush_bytes` pushed out, from one SM: those that the line before translated. Errors are the
/// session's.
Expected<std::vector<LoadPair>> time_flushed_twice(Session& session, std::uint64_t flush_bytes);

/// Lines that were loaded before half as much again as an L2 of so many bytes holds, the same way. Nothing where that
/// can't be had.
Expected<std::optional<std::vector<LoadPair>>> time_lost_twice(Session& session, std::uint64_t l2_bytes);

}  // namespace gputopo::evidence
