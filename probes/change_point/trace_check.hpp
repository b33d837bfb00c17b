// What every estimator asks of a trace before it looks at it.
#pragma once

#include <string>

#include "change_point/trace.hpp"

namespace gputopo::change_point {

/// What a clock of cycles and a memory in bytes can't exceed; sums of squares of such values stay finite.
inline constexpr double largest_latency_cycles = 1e12;
inline constexpr double smallest_control = 1e-9;
inline constexpr double largest_control = 1e18;

/// Empty if the trace can be used as it is: at least `min_rows` rows, each with a value; controls within the
/// limits above, values not negative and at most `largest_latency_cycles`. Else one sentence.
std::string why_unusable(const Trace& trace, std::size_t min_rows);

/// The same of one row, whose values are read.
std::string why_unusable(const Row& row);
/// The same of the number of rows.
std::string too_few_rows(const Trace& trace, std::size_t min_rows);

/// Rows sorted by control, rows of equal control joined (the laps of one size), rows without values dropped. Time
/// n log n in the rows, and with the loads.
Trace tidied(const Trace& trace);

/// True where `tidied` would change nothing.
bool is_tidy(const Trace& trace);

/// Whether each row's values ascend, as percentiles do: then their order tells nothing.
bool are_sorted(const Trace& trace);

}  // namespace gputopo::change_point
