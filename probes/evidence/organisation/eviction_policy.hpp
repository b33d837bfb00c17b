// Which line a full set lets go of, of a cache whose sets were found by eviction.
#pragma once

#include <string_view>
#include <vector>

#include "evidence/organisation/eviction_sets.hpp"
#include "topology/statement.hpp"

namespace gputopo::evidence {

/// By sequences of which policies that go by order lose different numbers; where sets don't lose all of their lines in
/// each round, by whether what they lose repeats. `method` and `memory` are the statement's and the curve's. Errors are
/// the session's.
Expected<Statement> replacement_of(Session& session, Evictions& look, const std::vector<EvictionSet>& sets,
                                   std::string_view memory, std::string_view method);

}  // namespace gputopo::evidence
