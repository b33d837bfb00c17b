// Finds the stretch of footprints where a cache overflows and looks at it line by line: doubling, then narrowing
// (Größler 2022, section 3.2), one load a line (4.7.1), many footprints in one launch (4.7.2). Every step is judged by
// the capacity likelihood, and what it says has to stand when the cache gets more laps to settle.
#pragma once

#include <functional>

#include "error/error.hpp"
#include "evidence/inference/capacity.hpp"
#include "evidence/inference/counts.hpp"
#include "evidence/looks/session.hpp"

namespace gputopo::evidence {

/// What a row of a sweep is to be.
struct RowRequest {
  std::uint64_t footprint_bytes = 0;
  std::uint32_t patience = 1;  ///< times the usual warm laps: caches that replace at random settle slowly
};

/// Runs rows of ever larger footprints, `replicates` launches each, and counts; of the first of them alone where others
/// take longer than another process leaves the GPU for.
using CountRows = std::function<Expected<Counts>(const std::vector<RowRequest>& rows, std::size_t replicates)>;

struct SearchSpec {
  CountRows count;
  Sweep sweep;
  std::uint64_t unit_bytes = 128;       ///< the finest step: a line
  std::uint64_t first_bytes = 512;      ///< the smallest footprint tried
  std::uint64_t limit_bytes = 1 << 20;  ///< the largest
  std::size_t rows = 48;                ///< of a sweep that narrows
  bool rows_take_long = false;          ///< what stays wide is swept by no more of them, however coarse
  std::size_t replicates = 4;           ///< of each row of the last sweep
  std::uint32_t most_patience = 16;     ///< 1: the cache gets no second look with more laps
  bool narrows_to_the_last = true;      ///< with the most laps, too, of which nothing says any more whether it settled
  /// What was walked while footprints doubled counts beside a sweep of the same ones: false where few rounds are
  /// walked, and what replaces at random had yet to settle.
  bool keeps_first_walks = true;
  std::uint64_t resolution_bytes = 0;  ///< stop when the step is this fine; 0: `unit_bytes`
  std::string_view memory;             ///< whose it is; empty: the session knows
  std::string_view quantity = "size";  ///< what it is: an attribute's id
};

struct SearchResult {
  CapacityPosterior posterior;  ///< of the last sweep
  Counts counts;                ///< of the last sweep
  std::uint32_t patience = 1;   ///< that it took to settle
  bool settled = true;          ///< false where more laps still changed the answer
  bool resolved = true;         ///< false where ever finer footprints left as much open as coarse ones
};

/// Errors are those of `count`.
Expected<SearchResult> search_capacity(const SearchSpec& spec);
/// The same; the session keeps the curve.
Expected<SearchResult> search_capacity(Session& session, const SearchSpec& spec);

/// The search's answer as an Estimate, `inconclusive` where it didn't settle.
Estimate estimate_of(const SearchResult& result, std::string_view method);

}  // namespace gputopo::evidence
