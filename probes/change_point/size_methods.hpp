// The two methods behind find_size, and the special cases of the default one. The trace is tidy and usable.
#pragma once

#include <optional>

#include "change_point/finding.hpp"
#include "change_point/separation.hpp"

namespace gputopo::change_point {

/// Mixture, binomial counts, constant level up to tau, isotonic rise after it. See docs/method.md. `counted` has all
/// values of the trace.
Finding find_size_standard(const Trace& trace, const LatencyCounts& counted, const Options& options);

/// Geometric mapping, optimal single split by L2 cost, Kolmogorov-Smirnov test: Größler, TUM 2022, section 3.3.
Finding find_size_thesis(const Trace& trace, const Options& options);

/// Constant level up to tau and an isotonic rise after it, for the means of rows: for traces whose loads don't fall
/// into separate levels. Means are taken over latencies clipped at the 99.5 % quantile.
struct MeanCurve {
  std::vector<Observation> rows;
  LevelModel model;
  OnsetProfile profile;
};
MeanCurve mean_curve(const Trace& trace);

/// For curves whose rows differ more among themselves than their loads explain: each size was laid out in other
/// physical pages, and what a row misses is luck. Inconclusive, unless a step of one height recurs, which luck doesn't
/// make: rises in geometric distance that sampling can't tell from the largest (two standard errors; subset selection
/// after Gupta, Technometrics 7, 1965), three or more, each from among the lowest tenth of the rows. Then the first of
/// them, with a confidence divided by their number.
Finding first_large_rise(const Trace& trace, const Options& options);

/// "Nothing changes within the sweep": a lower bound whose strength is how many misses a smaller cache would have
/// caused.
Finding no_change(const Trace& trace, const Separation* strongest, double p_value);

}  // namespace gputopo::change_point
