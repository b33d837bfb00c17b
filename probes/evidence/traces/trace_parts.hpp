// Parts of a trace that a separation is about.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "change_point/trace.hpp"
#include "evidence/traces/trace_levels.hpp"

namespace gputopo::evidence {

/// Those of the loads of rows up to `size` that hit.
change_point::Trace hits_of(const change_point::Trace& trace, const Separation& s, double size);

/// The loads that the change is about, where it lies behind row `last`: a level below that lies apart, and that loads
/// are on before the change as well as behind it, has nothing to do with it, if others take part.
change_point::Trace about_change(const change_point::Trace& trace, std::span<const Separation> candidates,
                                 const Separation& s, std::size_t last);

/// Without the loads beyond the next gap that no size changes: they are no part of a level that the boundary cuts.
change_point::Trace without_farther(const change_point::Trace& trace, std::span<const Separation> candidates,
                                    const Separation& s);

/// From row `first` on, but for rows without loads.
std::vector<change_point::Row> rows_from(const change_point::Trace& trace, std::size_t first);

}  // namespace gputopo::evidence
