// Hardware counters as commands use them: opened for a device, and their verdicts as rows.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "counters/counter.hpp"
#include "device/device.hpp"
#include "device/open/spec.hpp"
#include "experiments/crosscheck/crosscheck.hpp"
#include "topology/topology.hpp"

namespace gputopo::cli {

/// The counters of an opened device. `unavailable`, with the remedy, for devices that aren't GPUs and wherever
/// counters::open_counter says so.
Expected<std::unique_ptr<counters::Counter>> open_counter_of(const device::Device& device, const device::Spec& spec);

/// One footprint of a cross-check: misses and loads, as far as each was checked.
struct CheckedFootprint {
  std::string memory;
  std::uint32_t carve_out_percent = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t loads_asked = 0;
  std::optional<double> loads_issued;
  std::optional<double> by_timing;
  std::optional<double> by_counter;
  std::string verdict;  ///< the worse one
};

/// The entries of a cross-check brought together by footprint, in their order; of other kinds than these none.
std::vector<CheckedFootprint> checked_footprints(const std::vector<CrossCheck>& entries);

/// "l1 and texture", of those that failed; empty where none did.
std::string failed_memories(const Topology& topology, const experiments::CrossCheckReport& report);

/// The remark about those.
std::string contradiction(const std::string& failed);

}  // namespace gputopo::cli
