// How lines of one memory differ in what their loads take: 'this line is slow' (its channel, its distance) told from
// 'this load was slow' (a refresh, a queue) by looking at each line again and again.
#pragma once

#include "evidence/looks/latency.hpp"
#include "topology/statement.hpp"
#include "topology/topology.hpp"

namespace gputopo::evidence {

struct LineSpread {
  std::vector<double> own;     ///< each line's undisturbed latency as timed, cycles, by line
  Estimate low, middle, high;  ///< 5 %, 50 % and 95 % quantiles over the lines, cycles as timed; intervals 95 %
  Estimate slow_load;          ///< what the slowest twentieth of loads took more than their line's own, cycles
  /// "alike": lines differ by no more than loads do; "spread": by more, without kinds; "two_kinds" (or more:
  /// "several_kinds"): the lines fall apart into kinds, and each line keeps its own. Inconclusive where loads fall
  /// apart and lines don't keep their kind.
  Statement by_line;
};

/// Of the looks at each line, in time; lines need six at least to say anything.
LineSpread line_spread(const LooksByLine& looks);

}  // namespace gputopo::evidence
