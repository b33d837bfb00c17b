// What anybody's measurement looks like to the statistics. Plain data: no GPU, no I/O.
#pragma once

#include <cstdint>
#include <vector>

namespace gputopo::change_point {

/// One setting of the controlled quantity (a size or stride in bytes) and what was seen there (latencies in cycles).
struct Row {
  double control = 0;
  std::vector<double> values;
};

/// Rows in ascending order of `control`. Rows may differ in length.
struct Trace {
  std::vector<Row> rows;

  std::uint64_t loads() const {
    std::uint64_t all = 0;
    for (const Row& row : rows) {
      all += row.values.size();
    }
    return all;
  }
};

/// One stride (bytes) and its sweep: rows of footprints (bytes) with the latencies of a warm lap (cycles).
struct StrideSweep {
  double stride_bytes = 0;
  Trace trace;
};

}  // namespace gputopo::change_point
