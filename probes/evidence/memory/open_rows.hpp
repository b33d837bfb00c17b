// Whether rows of DRAM make loads of one page sooner than memory is, where a page's translation isn't kept: of the two
// lines that may be looked at there, one that brought the translation opened the row as well.
#pragma once

#include <optional>

#include "evidence/looks/session.hpp"

namespace gputopo::evidence {

/// Asks lines whose translation another line of their page brought that the L2 has, so that no row of theirs was
/// opened by that, against a neighbour of theirs right behind. `flush_bytes` of other loads empty what lies before
/// memory. Nothing where there is no room, or a neighbour on the GPU leaves no time. Errors are the session's.
Expected<std::optional<bool>> do_rows_show(Session& session, std::uint64_t flush_bytes);

}  // namespace gputopo::evidence
