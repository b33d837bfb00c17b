// Statements about who shares what: set where an experiment decided, absent where none did.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "error/error.hpp"
#include "evidence/inference/sameness.hpp"
#include "topology/topology.hpp"

namespace gputopo::evidence {

using SmSets = std::vector<std::vector<std::uint32_t>>;

Statement decided(std::string value, std::string_view method, std::uint64_t samples,
                  std::optional<double> confidence = {});
Statement undecided(std::string_view method, std::string_view why);
/// What can't be had beside another process (`unavailable`) leaves that statement undecided; other errors are passed
/// on.
Expected<void> or_undecided(Memory& memory, std::string_view name, std::string_view method, Expected<void> result);

/// Sets scope and sm_groups from a partition of all SMs into sets that share one instance: `sm` where each is alone,
/// `gpu` where all are one, else a group, which nothing names.
void set_scope(Memory& memory, const SmSets& groups, std::string_view method, std::uint64_t samples,
               std::optional<double> confidence = {});

/// Sets partitions, far_latency and how they were found, of an L2 in parts that some SMs are near to and others far
/// from.
void state_sides(Memory& l2, std::size_t sides, const Estimate& far_latency, std::string_view method,
                 std::uint64_t samples);

/// Says why the scope isn't known.
void leave_scope_open(Memory& memory, std::string_view method, std::string_view why);

}  // namespace gputopo::evidence
