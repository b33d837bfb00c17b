// What a file's numbers can't be, whatever its reader takes them for.
#pragma once

#include <span>
#include <string>

#include "change_point/trace.hpp"

namespace gputopo::change_point {

/// One sentence where the rows' values can't be latencies of single loads in cycles, or their averages, with what to
/// do; else empty:
/// - Most of those above zero are below one: no load takes less than a cycle, or than a nanosecond (microseconds or
///   seconds). Zeros are what a coarse clock counts.
/// - In every row of four values or more each value lies a cycle or more above the one before, 16 times or more in all:
///   times at which loads ended, or sorted values. A row of n independent latencies does so once in n!.
/// Time grows with the values.
std::string why_no_latencies(std::span<const Row> rows);

/// The same of rows that are said to hold latencies alone: besides, the rows together are one sequence of loads; and
/// eight rows or more whose leading numbers (the first, or the first two) rise from row to row, while the last ones
/// don't, begin with sizes or strides.
std::string why_no_latencies_alone(std::span<const Row> rows);

}  // namespace gputopo::change_point
