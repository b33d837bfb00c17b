// Shared memory: latency by experiment, size as the driver states it.
#include <fmt/format.h>

#include "evidence/inference/estimates.hpp"
#include "evidence/looks/latency.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {

using namespace evidence;

Expected<void> measure_shared(Session& session, Findings& findings) {
  Memory& memory = findings.memory("shared");
  memory.kind = Kind::scratchpad;
  auto& attributes = memory.attributes;
  if (session.info().shared_bytes_per_sm == 0) {
    attributes["size"] = not_supported("B", "this GPU has no shared memory");
    attributes["latency"] = not_supported("cycles", "this GPU has no shared memory");
    return {};
  }
  memory.physical_cache = memory.id;
  attributes["size"] = from_api(static_cast<double>(session.info().shared_bytes_per_sm), "B");
  auto load = measure_shared_latency(session);
  if (!load) return tl::unexpected<Error>(load.error());
  attributes["latency"] = *load;
  return {};
}

}  // namespace gputopo::experiments
