// The main table's contents, for the formats that lay it out themselves.
#pragma once

#include <string>
#include <vector>

#include "report/footnotes.hpp"
#include "report/grid.hpp"
#include "topology/topology.hpp"

namespace gputopo::report {

inline constexpr const char* latency_legend = "Latency and what a miss adds to it are in SM cycles.";
inline constexpr const char* truth_remark = "These are the model's own specifications; nothing was measured.";

/// How much room the main table may take.
struct Detail {
  bool full_labels = true;
  bool inline_interval = true;
  bool exact_sizes = true;
  bool nanoseconds = true;  ///< a column of latencies in ns beside that in cycles
  bool same_as = true;      ///< a column, else a footnote at the memory's name
};

struct MainTable {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  ///< one a memory
  std::string intervals;                ///< a sentence with the intervals that the cells leave out; may be empty
};

/// Memory, size, line, sector, latency in cycles and ns, what a miss adds, scope, and the memory it is one cache with.
MainTable main_table(const Topology& topology, const Detail& detail, bool unicode, Footnotes& notes);

/// Whether all estimates are a model's specification.
bool is_truth(const Topology& topology);

}  // namespace gputopo::report
