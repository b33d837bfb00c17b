// Which SMs have one cache together, from tests of one SM against others.
#pragma once

#include <functional>

#include "evidence/sameness.hpp"
#include "evidence/structure.hpp"
#include "topology/error.hpp"

namespace gputopo::experiments {

/// What `first` lost to each set of others, and after these the two controls: to itself, and to the first set where
/// that takes turns but pushes nothing out.
using LostTo = std::function<Expected<std::vector<evidence::Tally>>(std::uint32_t first, const evidence::SmSets& sets)>;

struct Sharers {
  evidence::SmSets groups;   ///< of all SMs, ascending
  double sure = 1;           ///< probability of the least sure answer
  bool has_problem = false;  ///< some others pushed out a part, but not as one on the same cache would
};

/// Sorts `sms` SMs into groups. `together` others take part in a test; where it isn't plain, each by itself. Errors are
/// those of `lost_to`.
Expected<Sharers> find_sharers(std::uint32_t sms, std::size_t together, const LostTo& lost_to);

/// Says so: the groups as scope, or why it isn't known.
void state_sharers(Memory& memory, const Sharers& sharers, std::string_view method, std::uint64_t samples);

}  // namespace gputopo::experiments
