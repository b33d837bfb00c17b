// Which loads hit and which missed: the boundary between two levels of latency whose crossing changes over the sweep.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "change_point/latency_histogram.hpp"
#include "change_point/mixture.hpp"
#include "evidence/inference/capacity.hpp"
#include "evidence/traces/trace_events.hpp"
#include "evidence/traces/trace_laps.hpp"

namespace gputopo::evidence {

/// A boundary and what it makes of every row: `sum` misses among `weight` loads.
struct Separation {
  change_point::Boundary boundary;
  std::vector<change_point::Observation> rows;
  std::vector<Event> events;  ///< by row: what is slow together counts as one, or not at all
  Sweep sweep;                ///< how the trace seems to have walked them
  CapacityPosterior posterior;
  double gain = 0;          ///< log-likelihood that levels which rise with size gain over one that doesn't
  std::size_t choices = 1;  ///< boundaries that this one was chosen from for telling rows apart
  /// How much of the boundary is size's doing: the standard deviation of the rows' fitted shares (outliers and banks
  /// that no size changes have none, however far they lie) times the squared logarithm of the ratio of the two sides'
  /// means (a drift of the hit level changes many loads by little, what makes few loads ten times as slow lies far).
  double effect_of_size = 0;

  /// Whether a gap lies between both levels: of hits, no more are beyond the boundary than of any others.
  bool has_a_gap() const { return sweep.contamination.false_miss <= foreign_contamination.false_miss; }
  /// Whether a load's side says more of its level than chance does, as far as loads about the boundary tell.
  bool tells_apart() const { return sweep.contamination.false_miss + sweep.contamination.false_hit < 0.5; }
};

/// Levels of memory differ by at least this share of the nearer one.
inline constexpr double least_level_share = 0.04;

/// Loads on the other side of a boundary that a level may have: isolated slow ones, and of a row those of the line or
/// two that something else takes.
inline constexpr double tolerated_share = 0.02;
inline constexpr double tolerated_misses = 2.5;

/// What the clock counts in, whichever number that is (change_point/clock_tick.hpp), by as many loads as tell it; 0
/// where loads of the smallest footprints mostly read the same, and don't lie between two ticks.
double tick_of(const change_point::Trace& trace);

/// Misses among all loads of the rows.
double level_of(std::span<const change_point::Observation> rows);

/// Misses that differ from row to row by more than this times what their number explains are no level.
inline constexpr double most_scatter = 3;

/// How much more rows differ among themselves than their loads explain, about one level.
double scatter_about_one_level(std::span<const change_point::Observation> rows);

/// Whether rows miss as seldom as those that fit: isolated slow loads, and the line or two that something else takes.
bool is_clean(std::span<const change_point::Observation> rows);

/// Whether rows hold loads of two levels, one on either side of the boundary. Of a single level that it cuts in two, no
/// more than three quarters of what a row's loads differ by lies between the sides, and no fewer loads lie in the
/// middle half of the way between the sides' medians than in the lesser of the quarters beside it. Time grows with the
/// loads.
bool hold_two_levels(const change_point::Trace& trace, double threshold_cycles);

/// The boundaries of a mixture over all latencies, and that which rows differ most by (rising_boundary), each with its
/// counts and profile, in ascending order of latency. Only boundaries that a memory level could make: the levels on
/// both sides at least 4 %, 2 cycles and more than one quantum of the clock apart (the banks of one cache and a clock
/// that counts in fours make less), with at least two loads above.
///
/// Two hit levels give a boundary that no size changes; a miss level that is nearly empty gives one that few rows
/// cross. Neither is decided here. Time grows with the loads.
std::vector<Separation> separations(const change_point::Trace& trace);
/// The same where the latencies have been counted already.
std::vector<Separation> separations(const change_point::Trace& trace, const change_point::LatencyCounts& counted);

/// Whether size changes how many loads lie beyond the boundary, beyond doubt, if this is one of so many `candidates`.
bool surely_changes_with_size(const Separation& separation, std::size_t candidates);

/// The separation that capacity misses show in: among those that the sweep changes significantly (by the likelihood
/// ratio, with Bonferroni's correction for rows, boundaries and what they were chosen from), the one that explains most
/// variance of the latencies (of those within 10 % of that, the one with the sharpest change); or a lower one with an
/// earlier onset that explains at least a tenth as much and whose own loads change with size. Nothing where no boundary
/// is crossed significantly, if this is one of so many `sweeps` that are looked at for one that is.
std::optional<std::size_t> capacity_separation(const std::vector<Separation>& candidates, std::size_t sweeps = 1);

/// The chosen separation without slow loads that have nothing to do with size: those above a higher boundary that no
/// size changes, few, or as many in every row. They stay loads, but aren't taken for misses.
Separation without_outliers(const change_point::Trace& trace, const std::vector<Separation>& candidates,
                            std::size_t chosen);

/// The trace without the loads that `candidates` leave out, which these then needn't any more; nothing where they leave
/// none out.
std::optional<change_point::Trace> without_interrupted(const change_point::Trace& trace,
                                                       std::vector<Separation>& candidates);

/// Whether nearly as many loads of the smallest footprint are slow as begin a line, of several a line: it may miss all
/// of them already.
bool may_miss_from_the_start(std::span<const Separation> candidates);

}  // namespace gputopo::evidence
