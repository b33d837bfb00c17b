// A topology as a list of quantities, each with what is known of it: what two GPUs can be compared by.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topology/topology.hpp"

namespace gputopo::compare {

/// What one GPU says of one quantity: a range that holds the true number, or a text; neither where nothing is known.
struct Answer {
  std::optional<double> value;
  std::optional<Interval> range;  ///< an end is infinite where there is only a bound
  std::string text;               ///< of what isn't a number: "sm", "2 of 18, 6 of 16", "not supported"

  bool is_known() const { return range.has_value() || !text.empty(); }
  friend bool operator==(const Answer&, const Answer&) = default;
};

struct Quantity {
  std::string key;    ///< "l2.latency", "l1.carve_out_28_percent_usable", "gpu.sm_count", "map.gpc"
  std::string label;  ///< for people: "L2: latency"
  std::string unit;   ///< as in Estimate::unit; "" for counts and texts
  Answer answer;
};

/// Everything about the hardware that the topology says, in its order; what identifies one GPU or one measurement
/// (UUID, PCI address, times, samples) is left out, and so are the numbers of groups, which are labels.
std::vector<Quantity> quantities(const Topology& topology);

/// What an estimate leaves possible. A bound is open to one side; an interval that covers less than 95 % of a posterior
/// is widened to that; a measured fraction without an interval says nothing that another could be held against.
Answer answer_of(const Estimate& estimate);

}  // namespace gputopo::compare
