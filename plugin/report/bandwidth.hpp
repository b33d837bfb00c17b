// What every level delivers, as a table of its own: few columns of numbers that no other quantity shares a unit with.
#pragma once

#include <string>
#include <vector>

#include "report/grid.hpp"
#include "topology/topology.hpp"

namespace gputopo::report {

inline constexpr const char* bandwidth_title = "Bandwidth";
inline constexpr const char* bandwidth_legend =
    "Bytes a second of all SMs together; a copy's are those read and those written.";
inline constexpr const char* at_least_legend =
    "At least so much: what a short search reached. --deep searches on, and tells the sides of an L2 apart.";

struct BandwidthTable {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  ///< one a memory and kind of access; empty where none is known
  std::string legend;
};

/// Memory, read, written, copied: "≥33.4 TB/s". The link to the host has a row of its own.
BandwidthTable bandwidth_table(const Topology& topology, bool full_labels, bool unicode);

}  // namespace gputopo::report
