// Where a result comes from, as far as the device knows.
#pragma once

#include "device/device.hpp"
#include "topology/provenance.hpp"

namespace gputopo::device {

/// Of a measurement on that device with that seed, begun now, or when its recording was made.
inline Provenance provenance_of(const DeviceInfo& info, std::uint64_t seed) {
  Provenance p;
  p.tool_version = GPUTOPO_VERSION;
  p.created = info.recorded.empty() ? rfc3339_now() : info.recorded;
  p.device = info.kind;
  p.simulated = info.simulated;
  p.driver_version = info.driver_version;
  p.kernels = info.kernels;
  p.seed = seed;
  return p;
}

}  // namespace gputopo::device
