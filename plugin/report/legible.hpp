// A topology whose every text can be shown: what files hold in names, units, keys and notes goes no further.
#pragma once

#include "topology/topology.hpp"

namespace gputopo::report {

/// A copy in which names, units, keys and the like are printable and of at most 200 characters, notes of at most 1000
/// (text/printable.hpp). Every renderer but JSON's, which escapes by itself, gets this one.
Topology legible(const Topology& topology);

}  // namespace gputopo::report
