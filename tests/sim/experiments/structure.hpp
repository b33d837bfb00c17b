// Who shares what, and where it lies: found against true.
#pragma once

#include <vector>

#include "comparison.hpp"

namespace gputopo::test {

/// "physical_cache", "parent", "shared_by", "instances_per_scope" and "carve_outs" of one memory that `truth` has.
std::vector<Statement> structure_statements(const Memory& found, const Memory& truth, std::uint32_t sm_count);

/// "tpc", "cpc", "gpc" and "l2_partition": which SMs sit together. Latencies tell only where they depend on the place.
std::vector<Statement> place_statements(const Topology& found, const Topology& truth);

}  // namespace gputopo::test
