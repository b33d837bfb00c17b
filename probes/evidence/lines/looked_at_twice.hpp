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

/// `lines` that a walk over `flush_bytes` pushed out, so many times, from one SM: those that the line before
/// translated. Errors are the session's.
Expected<std::vector<LoadPair>> time_flushed_twice(Session& session, std::uint64_t flush_bytes, std::uint64_t lines,
                                                   std::size_t times);

/// The same of lines that were loaded before half as much again as an L2 of so many bytes holds: fewer lines, as many
/// looks, where it is small. Nothing where that can't be had.
Expected<std::optional<std::vector<LoadPair>>> time_lost_twice(Session& session, std::uint64_t l2_bytes,
                                                               std::uint64_t lines, std::size_t times);

}  // namespace gputopo::evidence
