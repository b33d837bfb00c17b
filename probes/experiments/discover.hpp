// A whole discovery: every experiment in order, from a Device to a Topology.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.hpp"
#include "error/error.hpp"
#include "topology/evidence.hpp"
#include "topology/topology.hpp"

namespace gputopo::experiments {

enum class Method {
  standard,  ///< the capacity likelihood, residency where it works
  thesis,    ///< sizes by geometric mapping, optimal split and KS test (Größler 2022, section 3.3)
};

struct DiscoverOptions {
  std::vector<std::string> only;  ///< memory ids to measure; empty: every one
  bool extras = true;             ///< who shares what, carve-outs, the map of the chip, bandwidths
  bool deep = false;              ///< also what takes longer
  Method method = Method::standard;
  std::uint64_t seed = 1;
  /// Called now and then with the share of the work done (0 to 1) and what is being measured.
  std::function<void(double, std::string_view)> progress;
  std::vector<DecidingCurve>* curves = nullptr;  ///< takes what decided the values, where somebody wants it
  const std::atomic<bool>* stop = nullptr;       ///< when it turns true, discover ends with Error::Kind::interrupted
};

/// The ids that discover knows, in the order of its output: "l1", "texture", "read_only", "constant_l1",
/// "constant_l1_5", "l2", "shared", "device_memory", "tlb_l1", "tlb_l2", "tlb_l3".
std::span<const std::string_view> memory_ids();

/// Measures `device`. The Topology's provenance carries the device's kind, seed, method, duration and breakdown;
/// `created` is the time it began. Errors: `bad_input` for an unknown id, `interrupted`, and what Device::run fails
/// with. A quantity that can't be decided is an `inconclusive` Estimate, not an Error.
Expected<Topology> discover(device::Device& device, const DiscoverOptions& options);

}  // namespace gputopo::experiments
