// Lines that the L2 just lost: what memory brings again, or a cache behind the L2.
#pragma once

#include <cstdint>
#include <optional>

#include "evidence/inference/histogram.hpp"
#include "evidence/looks/session.hpp"
#include "evidence/looks/walks.hpp"

namespace gputopo::evidence {

inline constexpr std::size_t looks_at_lost_lines = 3;

/// What is walked so that an L2 of so many bytes loses lines, and how many of these are looked at: with that they fill
/// less than a cache behind has room for, which holds twice as much at least, in lines of 256 B at most
/// (docs/domain.md).
std::uint64_t evicting_bytes(std::uint64_t l2_bytes);
std::uint64_t lost_lines(std::uint64_t l2_bytes);

/// What lines take that were loaded before half as much again as an L2 of so many bytes holds, as timed. Nothing where
/// that can't be had. Errors are the session's.
Expected<std::optional<Histogram>> time_just_lost(Session& session, std::uint64_t l2_bytes, const LinesApart& apart);

/// The same with one line of each page in between, which leaves an L2 of ordinary lines nearly all of them: what takes
/// longer than hits then waits for its translation.
Expected<std::optional<Histogram>> time_as_far_kept(Session& session, std::uint64_t l2_bytes, const LinesApart& apart);

}  // namespace gputopo::evidence
