// What there is to know of a GPU's memories, once: every memory and every attribute that gputopo can measure, with the
// names under which tables, CSV, hwloc, LIKWID, schema and documentation show it. A new quantity is one row here.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string_view>

#include "topology/topology.hpp"

namespace gputopo::catalog {

/// One memory.
struct MemoryRow {
  std::string_view id;     ///< as in Memory::id
  std::string_view label;  ///< for people, as in Memory::label
  Kind kind;
  std::string_view path;  ///< program::Path whose loads reach it
  /// Ids of what may serve its misses, the nearest first; a GPU need not have them all. Empty texts fill the array.
  std::array<std::string_view, 3> parents;
  std::string_view hwloc;    ///< what lstopo writes on its box
  std::string_view likwid;   ///< what likwid-topology calls it
  std::string_view counter;  ///< CUPTI metric that counts its misses on a GH100, empty where there is none
};

/// One attribute of a memory.
struct AttributeRow {
  std::string_view id;           ///< as in Memory::attributes; a family's numbers are left out (see find_attribute)
  std::string_view label;        ///< for people: "line size"
  std::string_view unit;         ///< as in Estimate::unit
  std::string_view heading;      ///< column of the main table, empty for what stands among the further attributes
  std::string_view hwloc;        ///< info attribute on the memory's object
  std::string_view hwloc_flat;   ///< ending of the info attribute on the GPU's OS device, empty where there is none
  std::string_view likwid;       ///< column of LIKWID's CSV, empty where there is none
  std::string_view description;  ///< one sentence of the documentation
};

/// In the order in which reports list them.
std::span<const MemoryRow> memories();
std::span<const AttributeRow> attributes();

/// The row of that id, or nullptr for a memory or an attribute that somebody else's file brought.
const MemoryRow* find_memory(std::string_view id);
/// The same; "far_latency_from_side_1" is of the family "far_latency_from_side".
const AttributeRow* find_attribute(std::string_view id);

/// The nearest of the row's parents that `has` says the GPU has; empty where it has none.
std::string_view nearest_parent(const MemoryRow& row, const std::function<bool(std::string_view)>& has);

}  // namespace gputopo::catalog
