// Lines that the L2 just lost: what memory brings again, or a cache behind the L2.
#pragma once

#include <cstdint>
#include <optional>

#include "evidence/inference/histogram.hpp"
#include "evidence/looks/session.hpp"
#include "evidence/looks/walks.hpp"

namespace gputopo::evidence {

/// What lines take that were loaded before half as much again as an L2 of so many bytes holds, as timed. Nothing where
/// that can't be had. Errors are the session's.
Expected<std::optional<Histogram>> time_just_lost(Session& session, std::uint64_t l2_bytes, const LinesApart& apart);

}  // namespace gputopo::evidence
