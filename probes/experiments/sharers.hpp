// Which SMs have one cache together, from tests of one SM against others.
#pragma once

#include <functional>

#include "error/error.hpp"
#include "evidence/inference/curves.hpp"
#include "evidence/inference/sameness.hpp"
#include "evidence/looks/session.hpp"
#include "evidence/looks/structure.hpp"

namespace gputopo::experiments {

/// What `first` lost to each set of others, and after these the two controls: to itself, and to the first set where
/// that takes turns but pushes nothing out.
using LostTo = std::function<Expected<std::vector<evidence::Tally>>(std::uint32_t first, const evidence::SmSets& sets)>;

struct Sharers {
  evidence::SmSets groups;             ///< of all SMs, ascending
  double sure = 1;                     ///< probability of the least sure answer
  bool has_problem = false;            ///< some others pushed out a part, or few of many all, but not as on one cache
  std::vector<evidence::Asked> asked;  ///< by whom each group was looked for, and what it lost to whom
};

/// Sorts `sms` SMs into groups. `together` others take part in a test; where it isn't plain, each by itself. Errors are
/// those of `lost_to`.
Expected<Sharers> find_sharers(std::uint32_t sms, std::size_t together, const LostTo& lost_to);

/// Says so: the groups as scope, or why it isn't known; and keeps what was counted, which `counted` names.
void state_sharers(evidence::Session& session, Memory& memory, const Sharers& sharers, std::string_view method,
                   std::uint64_t samples, std::string_view counted);

}  // namespace gputopo::experiments
