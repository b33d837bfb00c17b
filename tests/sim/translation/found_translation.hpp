// What discovery says of a model's TLBs, beside what is true of them.
#pragma once

#include "tests/sim/organisation/found.hpp"

namespace gputopo::test {

/// Reach, entries, what one covers, penalty, organisation and sharers of every TLB that the model's truth has, and what
/// was said of one that it doesn't have.
std::vector<Found> translation_found(const sim::Model& model, const Topology& topology);

/// A discovery of the TLBs alone.
Topology discovered_translation(const sim::Model& model);

}  // namespace gputopo::test
