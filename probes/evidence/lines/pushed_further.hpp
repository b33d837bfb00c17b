// Whether constants that a cache in front lost can be pushed out further: then there is a cache between it and the L2.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "evidence/inference/levels.hpp"
#include "evidence/lines/pushed_constants.hpp"

namespace gputopo::evidence {

/// The looks at the first line of every so many bytes as the longest line has, of looks `stride` bytes apart.
LooksByLine coarse(const LooksByLine& looks, std::uint64_t stride);

/// Constants that were pushed out ever further.
struct PushedOut {
  std::vector<Histogram> graded;
  Eviction last;
  LooksByLine before, after;  ///< the same lines when no more than the L1 had lost them, and pushed out by the last
};

/// Pushes lines of the circle that the constant L1 `l1` just lost out further, by no more than what evictions_of() says
/// of `near_l2_bytes`. `second`: what they take where the L1 alone lost them. Errors are the session's.
Expected<PushedOut> push_out(Session& session, std::optional<std::uint64_t> near_l2_bytes, const CacheFacts& l1,
                             const Histogram& second);

/// Whether what was pushed out is slower than the same lines when the L1 alone lost them; `out.before` are the looks
/// that told. Errors are the session's.
Expected<bool> are_pushed_further(Session& session, const CacheFacts& l1, PushedOut& out);

/// What lines that the L1 had lost before took longer once they were pushed out, each by itself: others may be farther
/// away. Those that then took `threshold_cycles` or longer.
std::vector<double> pushed_lines_beyond(const PushedOut& out, const CacheFacts& l1, double threshold_cycles);

/// Whether something makes some looks at a constant that the L1 lost slower than others at the same one, as another
/// program does, and as constants that lie at several distances aren't. Errors are the session's.
Expected<bool> are_delayed_by_line(Session& session, const CacheFacts& l1, const Histogram& second);

}  // namespace gputopo::evidence
