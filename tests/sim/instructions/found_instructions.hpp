// What discovery says of a model's instruction caches, beside what is true of them.
#pragma once

#include "tests/sim/organisation/found.hpp"

namespace gputopo::test {

/// A deep discovery of the instruction caches alone.
Topology discovered_instructions(const sim::Model& model);

/// Size, line, sector, latency, penalty, sharers, instances and whether constants lie in them, of each that the model
/// has or the discovery names.
std::vector<Found> instructions_found(const sim::Model& model, const Topology& topology);

}  // namespace gputopo::test
