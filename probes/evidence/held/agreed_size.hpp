// A cache's size from two opinions: what footprints fit, and what is held of far more (held.hpp).
#pragma once

#include <cstdint>
#include <optional>

#include "evidence/held/held.hpp"
#include "evidence/inference/counts.hpp"

namespace gputopo::evidence {

/// Two opinions. A footprint fits where its lines fill the sets evenly: it may overflow before the whole cache is full,
/// never behind. So what `fits` bounds the capacity from below, and what is held of far more, where that is exact or a
/// sample that knows its error, is the capacity; else it bounds what fits from above. Where both agree `fits`, which is
/// exact to the line, stands; where they leave more than a line or a twentieth of the size between them, or where
/// nothing was `counted`, a lower bound is all there is; and so where fewer are held than seem to fit. Where nothing
/// tells what fits a sample that knows its error is the size, else what is held a lower bound.
Estimate agreed_size(const Estimate& fits, const std::optional<Held>& counted, double line_bytes);

/// Sizes of what turned out to be one cache, measured along two paths. It has one size: where they differ, though the
/// less certain one's interval holds the other, that other is both; and where of one no more is known than that as much
/// fits as the other found at least.
void agree_as_one_cache(Estimate& a, Estimate& b);

struct SizeAndHeld {
  Estimate size;
  std::optional<Held> held;
};

/// Inconclusive where of the footprints up to what `fits` more loads miss than strangers make.
std::optional<Estimate> open_where_it_misses(const Estimate& fits, const Counts& counts, const Levels& levels);

/// The size that both opinions agree on, of a cache of about so many bytes: by few looks, or where these leave it open
/// by many. `counts` are what `fits` was told from: inconclusive where of what fits more loads miss than strangers
/// make.
Expected<SizeAndHeld> agree_by_count(Session& session, const CacheFacts& cache, const Estimate& fits,
                                     const Counts& counts, std::uint64_t about_bytes, Scope isolation);

/// Of numbers that are as likely as one another a multiple of the largest power of two: caches are built of round
/// parts, and every run says the same. `range` lies above 1.
double roundest_within(const Interval& range);

/// A count that is off by some hundredths, rounded so that the next one says the same: to a multiple of the largest
/// power of two that is a 16th of it at most, which is some ten times as much as counts differ.
double rounded_count(double bytes);

/// Lines that the cache in front answers whenever they are loaded needn't be in this one: of so much that `fits`, the
/// share that was asked for in `counts` is held for sure, in whole lines.
void leave_out_front(Estimate& fits, const Counts& counts, std::uint64_t line_bytes);

/// A bound below in whole lines, of which a cache consists: ratios (bound_below) may end within one. Where the level
/// behind has lines that are as near as hits, the first ones too many may all be such, in every lap: the bound is lower
/// by as many as that happens to once in twenty times.
void bound_by_lines(Estimate& size, std::uint64_t line_bytes, const Levels& levels);

/// How much to walk so that the cache overflows: the size where that is measured; where it is a bound alone, the most
/// that was seen to be held if that isn't much more; else 0.
std::uint64_t bytes_to_fill(const Estimate& size, const std::optional<Held>& counted);

}  // namespace gputopo::evidence
