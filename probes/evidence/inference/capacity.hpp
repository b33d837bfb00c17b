// Where does a footprint stop fitting? One likelihood for every cache, whatever was counted.
//
// With f the share of a footprint's lines that aren't there when a lap comes to them, a load misses with probability
//   p(s) = c + (1 - c - b) f(s),
// c and b the shares that Levels counts on the wrong side. f is 0 up to the capacity C. Beyond it f never falls
// (isotonic regression, Ayer et al., Ann. Math. Stat. 26, 1955), and it is at least 1 - C/s: of a footprint of s at
// most C is resident when a lap begins, whatever the replacement and the hash. That pigeonhole makes C identifiable
// from both sides: a C too large has to explain misses by c, one too small asks for misses that aren't there. A fixed
// number of misses a lap that begins somewhere below C (lines that the kernel itself takes) is part of the model, at a
// cost, and so is how misses of a full cache rise: what overflows adds to these, and sets overflow one after the other.
// Launches of one footprint that differ more than their loads explain widen everything (quasi-likelihood,
// Wedderburn, Biometrika 61, 1974).
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "change_point/isotonic.hpp"
#include "evidence/inference/counts.hpp"
#include "evidence/inference/posterior.hpp"

namespace gputopo::evidence {

/// How the footprints were walked.
struct Sweep {
  double line_bytes = 0;   ///< one load every so many bytes: a line, or less
  bool whole_laps = true;  ///< every position as often as any other: then the pigeonhole holds for every count
  Contamination contamination;
  bool own_lines = false;  ///< the kernel takes lines of its own each lap
  /// Asks the pigeonhole, and not how misses of a full cache usually rise: for what to walk next, in rows far apart,
  /// and where pages lie anywhere and fill sets unevenly.
  bool by_law_alone = false;

  // What a trace that somebody else recorded may be like.
  double saturation = 1;     ///< share of loads that miss where nothing fits; negative: unknown, where the rise ends
  double lines_a_load = 1;   ///< loads that share a line miss together
  double pieces_a_line = 1;  ///< of evidence: lines of sets that overflow one after the other miss together, too
  double dropped_loads = 0;  ///< of a row's laps, that weren't recorded
  double scatter = 1;        ///< rows differ by this much more than their loads explain (a factor of variance)
  bool foreign = false;      ///< nobody chose the footprints so that the capacity lies among them
  bool first_fits = false;   ///< known otherwise
  change_point::LevelModel levels = {};  ///< Gaussian: rows hold means of latencies, and no counts
};

/// A distribution over 'the last footprint of the sweep that fits', 'none does' and 'all do'.
struct CapacityPosterior {
  std::vector<double> footprints_bytes;  ///< ascending
  std::vector<double> probability;       ///< by row: it is the last that fits; the last row's is that of 'all fit'
  double none_fits = 0;                  ///< even the first row is too large
  double misfit = 0;                     ///< log-likelihood that even the best row lacks to levels that only rise
  double slack = 0;                      ///< rows whose log-probability differs by less are alike
  std::uint64_t loads = 0;
  std::size_t fixed_from = 0;         ///< where a fixed number of misses a lap begins, if the best row fits
  std::optional<std::size_t> answer;  ///< the row to report, where that isn't for these probabilities to say

  /// `answer`, or the row that is likeliest to be the last that fits, of those with a row behind them; of rows within
  /// `slack` of it the last.
  std::size_t best() const;
  /// Footprints between which the capacity lies with probability `level`, around the best row.
  Interval credible(double level) const;
  /// Without the last row, behind which nothing was seen.
  Posterior within() const;
};

/// Needs at least one count. Rows are the distinct footprints. Time grows with their number, but for rows that miss
/// ever more over long stretches.
CapacityPosterior capacity_posterior(const Counts& counts, const Sweep& sweep);
/// The same of rows whose footprints ascend.
CapacityPosterior capacity_posterior(std::span<const change_point::Observation> rows, const Sweep& sweep);

/// `measured` with a 95 % interval and the posterior probability of value's row as its confidence; `lower_bound` where
/// all rows fit, `upper_bound` where none does, `inconclusive` where none of the three has the better part of the
/// probability.
Estimate capacity_estimate(const CapacityPosterior& posterior, std::string_view method);

}  // namespace gputopo::evidence
