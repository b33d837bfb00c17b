// Several change points in one series: the segmentation of least cost plus a penalty a change.
//
// PELT: Killick, Fearnhead & Eckley, "Optimal detection of changepoints with a linear computational cost", JASA 107,
// 2012. Exact: the pruning only drops candidates that can't be part of an optimum.
#pragma once

#include <cstddef>
#include <vector>

#include "change_point/split.hpp"

namespace gputopo::change_point {

struct Segmentation {
  std::vector<std::size_t> first_after;  ///< index of the first element of every segment but the first, ascending
  double cost = 0;                       ///< of all segments together, without penalties
};

/// The optimal segmentation into segments of at least `shortest` elements (never less than the cost can judge). Series
/// that are too short for two segments come back whole. Expected time is linear while changes keep coming, quadratic in
/// the longest segment else.
Segmentation pelt(const SegmentCost& cost, double penalty, std::size_t shortest = 1);

/// Schwarz's criterion in the cost's unit: a change adds its place and its parameters, log(size) each. `variance` of
/// the noise around the levels, for L2 alone (ranks have their own, normal estimates it).
double bic_penalty(Cost cost, std::size_t size, double variance);

}  // namespace gputopo::change_point
