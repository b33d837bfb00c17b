// Footprints that a trace has several rows of, as passes up and down leave them: what these differ by is no size's
// doing.
#pragma once

#include "change_point/trace.hpp"

namespace gputopo::evidence {

/// Whether rows of one footprint differ, beyond chance, by as much as footprints do (means, each footprint's rows
/// together): then time tells as much of a load as size does. False where no footprint has two rows. Time n log n in
/// the rows, and grows with the loads.
bool do_repeats_differ_as_sizes_do(const change_point::Trace& trace);

}  // namespace gputopo::evidence
