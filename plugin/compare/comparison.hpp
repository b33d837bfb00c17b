// What differs between GPUs that ought to be equal: by what the measurements leave possible, not by their digits.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "compare/quantities.hpp"
#include "error/error.hpp"
#include "topology/topology.hpp"

namespace gputopo::compare {

struct Options {
  /// By how much times, rates and the driver's word on the memory may differ, percent of the smaller: two chips of one
  /// model have other slices switched off and lie a little farther from them. Sizes and counts have no tolerance.
  double tolerance_percent = 1;
  std::vector<std::string> ignore;  ///< Quantity::key of what isn't to be compared
};

/// GPUs that agree on a quantity.
struct Side {
  std::vector<std::size_t> gpus;  ///< indices into what was compared, ascending
  Answer answer;                  ///< of the GPU that agrees with most of them
};

struct Difference {
  std::string key, label, unit;  ///< as in Quantity
  std::vector<Side> sides;       ///< two or more, the largest first; GPUs that say nothing are on none
};

struct Comparison {
  std::vector<std::string> compared;      ///< keys of the quantities that at least two GPUs know
  std::vector<std::string> not_compared;  ///< keys of those that not every GPU knows
  std::vector<Difference> differences;
  std::vector<std::string> notes;  ///< conditions that differ: drivers, shared GPUs, simulated ones
};

/// Whether both can be true at once, within `tolerance_percent`; so also where either isn't known.
bool can_agree(const Answer& a, const Answer& b, double tolerance_percent);

/// Error: `bad_input` where `ignore` names what no GPU has.
Expected<Comparison> compare(std::span<const Topology> gpus, const Options& options);

}  // namespace gputopo::compare
