// Whether what takes longer and longer from row to row is the rows that fit.
#pragma once

#include <cstddef>
#include <span>

#include "change_point/isotonic.hpp"

namespace gputopo::evidence {

/// How many rows, from the first on, lie on the straight line through the means of the first `fitting` ones, as far as
/// these scatter about it; `fitting` where there is no such line: fewer than four of them, or ones that rise by no more
/// than chance. Time grows with the rows.
std::size_t rows_on_trend(std::span<const change_point::Observation> rows, std::size_t fitting);

}  // namespace gputopo::evidence
