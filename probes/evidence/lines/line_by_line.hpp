// What lines that the L2 lost say one by one, each held against a hit of its own: where hits lie as far apart as levels
// do, no latency of all of them tells a near line of the next level from a far one.
#pragma once

#include <optional>

#include "evidence/inference/histogram.hpp"
#include "evidence/looks/findings.hpp"
#include "evidence/looks/session.hpp"

namespace gputopo::evidence {

struct LineByLine {
  bool are_hidden = false;         ///< lines that it lost, among what counts as hits
  std::optional<bool> is_a_cache;  ///< that some of them come from, else all come from memory; nothing: unknown
  Histogram later;                 ///< than hits of theirs, cycles
};

/// Nothing of all that where hits lie together. Errors are the session's.
Expected<LineByLine> look_line_by_line(Session& session, const Findings& findings, const CacheFacts& l2);

}  // namespace gputopo::evidence
