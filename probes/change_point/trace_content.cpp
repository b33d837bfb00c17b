#include "change_point/trace_content.hpp"

#include <algorithm>
#include <tuple>

namespace gputopo::change_point {
namespace {

constexpr double least_latency_cycles = 1;
constexpr std::size_t fewest_steps = 16;
constexpr std::size_t shortest_sequence = 4;  // two or three columns may hold one thing each
constexpr std::size_t fewest_rows = 8;

constexpr const char* not_cycles =
    "most latencies are below one, and no load takes less than a cycle: they are in microseconds or seconds; "
    "give cycles or nanoseconds";
constexpr const char* not_single =
    "each value lies above the one before: times at which loads ended, or sorted values; "
    "give each load's own latency, in the order of loads";
constexpr const char* not_alone =
    "the rows' first numbers rise from row to row and their last ones don't: sizes or strides; "
    "leave them out, or name another --attribute";

bool are_below_a_cycle(std::span<const Row> rows) {
  std::size_t below = 0;
  std::size_t above_zero = 0;
  for (const Row& row : rows) {
    for (const double value : row.values) {
      above_zero += static_cast<std::size_t>(value > 0);
      below += static_cast<std::size_t>(value > 0 && value < least_latency_cycles);
    }
  }
  return 2 * below > above_zero;
}

// Steps upwards of at least a latency, until one that isn't.
struct Steps {
  std::size_t count = 0;
  bool all_rise = true;

  void add(double before, double value) {
    ++count;
    all_rise = all_rise && value >= before + least_latency_cycles;
  }
  bool are_times() const { return all_rise && count >= fewest_steps; }
};

bool rise_within_rows(std::span<const Row> rows) {
  Steps steps;
  for (const Row& row : rows) {
    if (row.values.size() < shortest_sequence) continue;
    for (std::size_t i = 1; i < row.values.size() && steps.all_rise; ++i) steps.add(row.values[i - 1], row.values[i]);
  }
  return steps.are_times();
}

bool rise_from_row_to_row(std::span<const Row> rows) {
  Steps steps;
  const double* before = nullptr;
  for (const Row& row : rows) {
    for (const double& value : row.values) {
      if (before != nullptr) steps.add(*before, value);
      if (!steps.all_rise) return false;
      before = &value;
    }
  }
  return steps.are_times();
}

template <typename Key>
bool rises(std::span<const Row> rows, const Key& key) {
  for (std::size_t i = 1; i < rows.size(); ++i)
    if (!(key(rows[i - 1]) < key(rows[i]))) return false;
  return true;
}

bool begin_with_controls(std::span<const Row> rows) {
  if (rows.size() < fewest_rows) return false;
  if (std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.values.size() < 2; })) return false;
  const bool hold_three = std::all_of(rows.begin(), rows.end(), [](const Row& row) { return row.values.size() >= 3; });
  const auto first = [](const Row& row) { return row.values.front(); };
  const auto first_two = [](const Row& row) { return std::tuple(row.values[0], row.values[1]); };
  const auto last = [](const Row& row) { return row.values.back(); };
  return (rises(rows, first) || (hold_three && rises(rows, first_two))) && !rises(rows, last);
}

}  // namespace

std::string why_no_latencies(std::span<const Row> rows) {
  if (are_below_a_cycle(rows)) return not_cycles;
  if (rise_within_rows(rows)) return not_single;
  return {};
}

std::string why_no_latencies_alone(std::span<const Row> rows) {
  if (rise_from_row_to_row(rows)) return not_single;
  if (begin_with_controls(rows)) return not_alone;
  return why_no_latencies(rows);
}

}  // namespace gputopo::change_point
