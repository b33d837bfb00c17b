// How fast straight-line code comes from each cache that instructions pass.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "evidence/looks/session.hpp"
#include "topology/topology.hpp"

namespace gputopo::experiments {

/// Code of so many bytes, round and round, comes from this memory: those in front have lost it, this one has it all.
struct FetchLevel {
  std::string_view memory;
  std::uint64_t from_bytes = 0, to_bytes = 0;
};

/// States `fetch_bandwidth` of each, the nearest first: bytes of straight-line code that one warp is served in a cycle,
/// beside nobody else; and `shared_fetch_bandwidth`, the same while a warp of each SM does so at once. Lower bounds
/// where code from there runs as fast as any does: then nothing waits for it. Inconclusive where that differs with the
/// code's length. Errors are the session's.
Expected<void> measure_fetch(evidence::Session& session, std::span<const FetchLevel> levels, Topology& topology);

/// Whether straight-line code loses all of three quarters of so many bytes, as it does of twice as many, and nothing of
/// less than half: then a cache that seems to hold as much, by one line of each block, holds parts of blocks. Nothing
/// where what is lost takes no longer, some of it stays, or there is no code of such lengths; what is in front loses
/// all of `front_lost_bytes`. Errors are the session's.
Expected<std::optional<bool>> loses_code_in_a_row(evidence::Session& session, std::uint64_t bytes,
                                                  std::uint64_t front_lost_bytes);

}  // namespace gputopo::experiments
