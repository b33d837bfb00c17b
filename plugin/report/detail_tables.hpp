// The tables behind the main one, where everything is asked for, for all formats.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "report/cell.hpp"
#include "report/grid.hpp"
#include "topology/topology.hpp"

namespace gputopo::report {

struct DetailTable {
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  ///< none: there is nothing to say
};

/// Makes a table whose cells take as much room as the style says; what they leave out goes to the notes.
using DetailMaker = std::function<DetailTable(const CellStyle& style, Footnotes& notes)>;

/// In order: further attributes, organisation, stores, what is fetched ahead, carve-outs of each cache, which caches
/// are one, cross-checks, where the time went. They refer to the topology.
std::vector<DetailMaker> detail_makers(const Topology& topology);

/// Whether the memory's carve-outs and groups are those of one before it, which is the same physical cache.
bool repeats(const Topology& topology, const Memory& memory);

}  // namespace gputopo::report
