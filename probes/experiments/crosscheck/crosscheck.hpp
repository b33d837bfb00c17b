// Two sources for one number: the misses that timing sees and the misses that hardware counters count, in the very same
// launches; and the loads that were asked for against the loads that were issued. A warm-up that the assembler deleted,
// a load hoisted out of its loop or a threshold in the wrong place can't pass. How to read a disagreement is in
// docs/counters.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "counters/counter.hpp"
#include "device/device.hpp"
#include "error/error.hpp"
#include "experiments/discover.hpp"
#include "topology/topology.hpp"

namespace gputopo::experiments {

inline constexpr std::string_view verdict_equal = "equal";
inline constexpr std::string_view verdict_within = "within tolerance";
inline constexpr std::string_view verdict_differs = "differs";

struct CrossCheckReport {
  /// Memory by memory; three kinds of entries each, told apart by `metric`: misses (the metric itself),
  /// loads ("loads: ...", asked for against issued) and sizes ("change point: ...", bytes, by either source's curve).
  std::vector<CrossCheck> entries;
  std::vector<std::string> notes;  ///< memories that weren't checked, and why

  /// "equal", "within tolerance" or "differs", whichever of the memory's entries is worst; empty where there is none.
  std::string verdict(std::string_view memory) const;
};

/// Checks every cache and memory of `topology` that `device` has and `counter` has counters for, at a dozen footprints
/// each (and at several carve-outs for the L1). `device` and `counter` must be the same GPU. Only `seed`, `only`,
/// `progress` and `stop` of the options matter. Errors: those of Device::run and of Counter.
Expected<CrossCheckReport> cross_check(device::Device& device, counters::Counter& counter, const Topology& topology,
                                       const DiscoverOptions& options);

/// Puts the report into the topology: its entries; sizes that passed say so in their note; the size of a memory whose
/// check failed becomes `inconclusive`, with the evidence; what wasn't checked becomes a note of the provenance.
void apply(const CrossCheckReport& report, Topology& topology);

}  // namespace gputopo::experiments
