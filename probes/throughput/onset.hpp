// From where on something costs more the more of it there is: a change in slope, the likeliest one.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace gputopo::throughput {

struct Cost {
  double x = 0;     ///< ascending
  double cost = 1;  ///< 1 where it is free
};

/// The last of the costs that is still free, and the first and last that the measurement doesn't tell from it.
struct Onset {
  std::size_t at = 0, low = 0, high = 0;
};

/// Behind the onset each step of x costs as much again; it is one of `places` between one x and the next. What is off
/// is distributed by Cauchy's law, because some x cost far more than their neighbours; `scatter` is its half width.
/// Nothing where nothing costs 2 % more.
std::optional<Onset> find_onset(const std::vector<Cost>& costs, double scatter, int places = 1);

}  // namespace gputopo::throughput
