// How one fact of a memory's structure was found: who shares it, how many there are, what it is one cache with.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "topology/estimate.hpp"

namespace gputopo {

/// What an Estimate is for a quantity, for what isn't a number.
struct Statement {
  std::string value;  ///< "gpc", "2", "l1"; empty where nothing is known
  Status status = Status::inconclusive;
  std::string method;                ///< the experiment's name, such as "eviction"
  std::optional<double> confidence;  ///< probability in [0, 1] that `value` is right, as far as the data says
  std::uint64_t samples = 0;         ///< loads that the statement rests on
  std::string note;                  ///< one sentence for the reader: why inconclusive, what disagrees
  friend bool operator==(const Statement&, const Statement&) = default;
};

/// Statements by what they are about: "scope", "instances_per_scope", "physical_cache", "sm_groups", "l2_sides",
/// "code" (whether the memory holds code too), ...
using Structure = std::map<std::string, Statement>;

/// True where a reader may use `value`: measured, api or truth, and not empty.
bool is_usable(const Statement& statement);

}  // namespace gputopo
