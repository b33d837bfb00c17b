// What nothing that a discovery can run would tell of a model of docs/domain.md.
#pragma once

#include <vector>

#include "device/sim/model.hpp"
#include "tests/sim/experiments/comparison.hpp"

namespace gputopo::test {

/// Makes statements undecidable whose cache the model leaves nothing to tell by: once the clock is what it stays, no
/// line of the level behind takes 1.05 times as long; or a constant L1.5 holds all that can be brought into it. So is
/// that it is the parent of another one.
void mark_untold(const sim::Model& model, std::vector<Statement>& statements);

}  // namespace gputopo::test
