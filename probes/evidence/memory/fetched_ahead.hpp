// Is a line there before anybody asked for it? Told from how often loads hit that walk through cold memory in different
// orders (Mei and Chu 2017, section 4.6: a cold sequential walk that hits was fetched ahead).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "topology/evidence.hpp"
#include "topology/statement.hpp"

namespace gputopo::evidence {

/// Loads of short runs through cold memory, those behind each run's first one.
struct RunHits {
  std::uint64_t loads = 0, hits = 0;
  std::uint64_t seconds = 0, second_hits = 0;  ///< the runs' second loads alone
};

/// What was asked for after a run once other loads had closed all rows of DRAM: the line that came next, which hits if
/// it was fetched ahead and misses if only its row was open.
struct AfterClosing {
  std::uint64_t loads = 0, forward_hits = 0, reverse_hits = 0;  ///< so many loads in either order
  /// Of single loads, and as many: the line below, which nothing fetches, hits where rows stay open; the line itself
  /// hits where what has come in stays.
  std::uint64_t below_hits = 0, loaded_hits = 0;

  bool are_rows_closed() const;
  bool is_kept() const;
};

/// Runs of one stride, by order.
struct StrideHits {
  std::uint64_t stride_bytes = 0;
  RunHits forward, reverse, shuffled;
  std::uint64_t firsts = 0, first_hits = 0;   ///< first loads of all runs, which nothing can have fetched
  std::optional<AfterClosing> after_closing;  ///< where one order hits more often than another
};

/// Whether one order hits more often than another: lines were fetched ahead, or an open row is as fast as a hit.
bool depends_on_order(const StrideHits& hits);

/// A statement "prefetch": `none`; `next_line` where a single load brings in what follows it (a run's second load
/// hits); `stride` where it takes a sequence of loads. What hits as often in any order came with one fetch of several
/// sectors or lines: those strides are left out, as are those that hit in order because rows were open. Inconclusive,
/// with the reason, where none are left, and where an open row can't be told from what was fetched.
Statement fetched_ahead(std::span<const StrideHits> strides);

/// Share of loads that hit over strides, by order.
DecidingCurve curve_of(std::span<const StrideHits> strides, std::string_view memory);

}  // namespace gputopo::evidence
