// Is a line there before anybody asked for it? Told from how often loads hit that walk through cold memory in different
// orders (Mei and Chu 2017, section 4.6: a cold sequential walk that hits was fetched ahead).
#pragma once

#include <cstdint>
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

/// Runs of one stride, by order.
struct StrideHits {
  std::uint64_t stride_bytes = 0;
  RunHits forward, reverse, shuffled;
  std::uint64_t firsts = 0, first_hits = 0;  ///< first loads of all runs, which nothing can have fetched
};

/// A statement "prefetch": `none`; `next_line` where a single load brings in what follows it (a run's second load
/// hits); `stride` where it takes a sequence of loads. What hits as often in any order came with one fetch of several
/// sectors or lines: those strides are left out. Inconclusive, with the reason, where none are left.
Statement fetched_ahead(std::span<const StrideHits> strides);

/// Share of loads that hit over strides, by order.
DecidingCurve curve_of(std::span<const StrideHits> strides, std::string_view memory);

}  // namespace gputopo::evidence
