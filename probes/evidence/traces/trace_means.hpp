// Traces whose loads don't fall into levels, and those whose rows are a lottery.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "change_point/trace.hpp"
#include "evidence/inference/capacity.hpp"
#include "evidence/traces/traces.hpp"

namespace gputopo::evidence {

/// Rows by the sum of their latencies, clipped at the 99.5 % quantile, as a Gaussian sweep: a level up to the capacity
/// and levels that never fall after it.
struct MeanCurve {
  std::vector<change_point::Observation> rows;
  Sweep sweep;
  double slowest = 0;  ///< that quantile
};
MeanCurve mean_curve(const change_point::Trace& trace);

/// The probability that the rows' means rise as much by chance, at most.
double chance_of_means(const change_point::Trace& trace);

/// A clock that counts whole cycles and a drift of its frequency shift means by less, cycles; no level of memory does.
inline constexpr double least_rise_cycles = 2;

inline constexpr std::string_view drifts = "latencies drift from row to row: no row is where they begin to rise";

/// Whether the rows' means rise beyond chance, and a smooth curve explains them as well as levels that rise do.
bool do_means_drift(const change_point::Trace& trace);

/// Whether from the smallest footprints on the rows' means rise by as much as levels of memory differ, as far as their
/// loads tell.
bool do_means_rise_by_a_level(const change_point::Trace& trace);

/// How the rows' means rise, if they do by as much as levels of memory differ.
struct MeanRise {
  double from = 0;    ///< the last footprint before, or an earlier one (95 %)
  double cycles = 0;  ///< from the first row to the last
  bool is_drift = false;
};
std::optional<MeanRise> rise_of_means(const change_point::Trace& trace);

/// The size from the rows' means alone. The trace is tidy and usable.
Estimate size_by_means(const change_point::Trace& trace);

/// For curves whose rows differ more among themselves than their loads explain: each size was laid out in other
/// physical pages, and what a row misses is luck. Inconclusive, unless a step of one height recurs, which luck doesn't
/// make: rises in geometric distance that sampling can't tell from the largest (two standard errors; subset selection
/// after Gupta, Technometrics 7, 1965), three or more, each from among the lowest tenth of the rows. Then the first of
/// them, with a confidence divided by their number.
Estimate first_large_rise(const change_point::Trace& trace, const TraceOptions& options);

}  // namespace gputopo::evidence
