// Who shares a memory, how many there are and which others are the same one: as far as it was measured.
#pragma once

#include <string>

#include "report/footnotes.hpp"
#include "report/grid.hpp"
#include "topology/topology.hpp"

namespace gputopo::report {

/// "SM", "TPC", "GPC", "partition", "GPU" or "group of 16-18 SMs"; "2/SM" where there are several instances. "-" where
/// it wasn't measured. Where `room` is short, a group is "16-18 SMs".
enum class Room { full, brief };
std::string scope_text(const Memory& memory, Room room = Room::full);

/// The same with a footnote for what wasn't measured or isn't decided.
Cell scope_cell(const Memory& memory, Room room, Footnotes& notes);

/// The id of the first memory listed that is the same physical cache, empty for that first one and for what is no
/// cache; "-" with a footnote, begun with `prefix`, where it wasn't measured.
Cell same_as_cell(const Topology& topology, const Memory& memory, const std::string& prefix, Footnotes& notes);

}  // namespace gputopo::report
