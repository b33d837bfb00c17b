#include "change_point/trace_check.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "stop/stop.hpp"

namespace gputopo::change_point {

std::string too_few_rows(const Trace& trace, std::size_t min_rows) {
  if (trace.rows.size() >= min_rows) {
    return {};
  }
  return "the trace has " + std::to_string(trace.rows.size()) + " usable row" + (trace.rows.size() == 1 ? "" : "s") +
         ", at least " + std::to_string(min_rows) + " are needed";
}

std::string why_unusable(const Row& row) {
  if (!(row.control >= smallest_control && row.control <= largest_control)) {
    return "a row's control value is not a positive number up to 1e18";
  }
  unsigned unusable = static_cast<unsigned>(row.values.empty());
  for (const double value : row.values) {  // no branches: the compiler can take several values at once
    unusable |= static_cast<unsigned>(!(value >= 0)) | static_cast<unsigned>(!(value <= largest_latency_cycles));
  }
  if (unusable == 0) {
    return {};
  }
  return "the row at " + std::to_string(std::llround(row.control)) +
         " has no values or one that is not a latency from 0 to 1e12 cycles";
}

std::string why_unusable(const Trace& trace, std::size_t min_rows) {
  std::string reason = too_few_rows(trace, min_rows);
  for (std::size_t i = 0; reason.empty() && i < trace.rows.size(); ++i) {
    reason = why_unusable(trace.rows[i]);
  }
  return reason;
}

bool is_tidy(const Trace& trace) {
  for (std::size_t i = 0; i < trace.rows.size(); ++i) {
    if (trace.rows[i].values.empty() || (i > 0 && !(trace.rows[i - 1].control < trace.rows[i].control))) {
      return false;
    }
  }
  return true;
}

bool are_sorted(const Trace& trace) {
  return std::ranges::all_of(trace.rows, [](const Row& row) { return std::ranges::is_sorted(row.values); });
}

Trace tidied(const Trace& trace) {
  Trace result;
  for (const Row& row : trace.rows) {
    stop::look();
    if (!row.values.empty() && !std::isnan(row.control)) {
      result.rows.push_back(row);
    }
  }
  std::stable_sort(result.rows.begin(), result.rows.end(),
                   [](const Row& a, const Row& b) { return a.control < b.control; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    if (kept > 0 && result.rows[kept - 1].control == result.rows[i].control) {
      auto& values = result.rows[kept - 1].values;
      values.insert(values.end(), result.rows[i].values.begin(), result.rows[i].values.end());
    } else {
      if (kept != i) {
        result.rows[kept] = std::move(result.rows[i]);
      }
      ++kept;
    }
  }
  result.rows.resize(kept);
  return result;
}

}  // namespace gputopo::change_point
