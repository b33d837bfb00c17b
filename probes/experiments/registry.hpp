// The experiments as rows of one table: what each gives, what it needs, whether every discovery can afford it.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "experiments/experiments.hpp"

namespace gputopo::experiments {

/// What an experiment costs on a large GPU.
enum class Cost {
  cheap,  ///< under 50 ms: part of every discovery
  deep,   ///< more: only where asked for
};

struct Experiment {
  std::string_view name;                   ///< "l1.size": unique
  std::vector<std::string_view> memories;  ///< ids of what it tells about
  std::vector<std::string_view> needs;     ///< names of experiments whose findings it builds on
  Cost cost = Cost::cheap;
  bool structure = false;  ///< tells who shares what, not how large or fast something is
  Expected<void> (*run)(Session&, Findings&) = nullptr;
};

/// All there are, each behind what it needs.
std::span<const Experiment> all_experiments();

/// Those that tell about one of `memories` (all of them if empty) and those that these need, in the table's order.
/// `with_structure` and `deep` add those kinds.
std::vector<const Experiment*> plan(std::span<const std::string> memories, bool with_structure, bool deep);

}  // namespace gputopo::experiments
