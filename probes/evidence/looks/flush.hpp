// Empties the L2 of everything else: every SM loads a part of a stretch of memory that is larger than it.
#pragma once

#include "evidence/looks/session.hpp"

namespace gputopo::evidence {

inline constexpr std::uint64_t flush_line_bytes = 128;

/// What one of those programs loads of `bytes`; the last one may load less.
std::uint64_t flush_part_bytes(const device::DeviceInfo& info, std::uint64_t bytes);

/// Programs that load `bytes` of the flush slot from `first_byte` on, which is made `buffer_bytes` long. They belong in
/// front of what needs the L2 emptied, in one run_in_order(). With a load each `line_bytes`: sets of lines that are
/// shorter than that, and that no such load falls into, keep theirs.
program::Batch flush_batch(const device::DeviceInfo& info, std::uint64_t bytes, std::uint64_t buffer_bytes,
                           std::uint64_t line_bytes = flush_line_bytes, std::uint64_t first_byte = 0);

}  // namespace gputopo::evidence
