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

// How the metrics of entries begin that aren't about misses.
inline constexpr std::string_view check_of_loads = "loads: ";
inline constexpr std::string_view check_of_size = "change point: ";
inline constexpr std::string_view check_of_slices = "slices: ";
inline constexpr std::string_view check_of_slice_count = "slice count: ";

struct CrossCheckReport {
  /// Memory by memory; kinds of entries, told apart by how `metric` begins: misses (the metric itself), loads
  /// (check_of_loads, asked for against issued), sizes (check_of_size, bytes, by either source's curve); of the L2 also
  /// its slices: where timing found one line of each, how many of the busiest one's share all atomics are
  /// (check_of_slices), and how many there are by either source (check_of_slice_count).
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

/// Puts the report into the topology: its entries; sizes and slices that passed say so in their note; those whose check
/// failed become `inconclusive`, with the evidence; what wasn't checked becomes a note of the provenance.
void apply(const CrossCheckReport& report, Topology& topology);

}  // namespace gputopo::experiments
