// The experiments as rows of one table: what each gives, what it needs, whether every discovery can afford it.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "experiments/experiments.hpp"

namespace gputopo::experiments {

/// What an experiment is a part of.
enum class Part {
  values,     ///< how large, how fast: every discovery, under 50 ms on a large GPU
  structure,  ///< who shares what, what is delivered at least: every discovery that isn't asked for values alone
  deep,       ///< what takes longer: only where asked for
};

struct Experiment {
  std::string_view name;                   ///< "l1.size": unique
  std::vector<std::string_view> memories;  ///< ids of what it tells about; none: the chip, of a whole discovery alone
  std::vector<std::string_view> needs;     ///< names of experiments whose findings it builds on
  Part part = Part::values;
  Expected<void> (*run)(Session&, Findings&) = nullptr;
};

/// All there are, each behind what it needs.
std::span<const Experiment> all_experiments();

/// Those that tell about one of `memories` (all of them if empty) and those that these need, in the table's order.
/// `with_structure` and `deep` add those parts, `beside_others` what tells whether others run at the same time.
std::vector<const Experiment*> plan(std::span<const std::string> memories, bool with_structure, bool deep,
                                    bool beside_others = false);

}  // namespace gputopo::experiments
