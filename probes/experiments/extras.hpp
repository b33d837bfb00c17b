// What lies beyond one cache at a time: carve-outs, instances, who shares what, where SMs sit.
#pragma once

#include <optional>
#include <span>

#include "experiments/constant_l1_5.hpp"
#include "experiments/l2.hpp"
#include "experiments/session.hpp"
#include "experiments/sm_cache.hpp"
#include "topology/topology.hpp"

namespace gputopo::experiments {

/// A cache of an SM together with the loads that reach it; `cache` may be null or absent.
struct Measured {
  CachePath path;
  SmCache* cache = nullptr;
};

/// Sets Memory::physical_cache, for every pair of `caches`, and tells in `checks` why.
Expected<void> find_sharing(Session& session, std::span<const Measured> caches, std::vector<SharingCheck>& checks);

/// The constant L1.5 against code.
Expected<void> find_code_sharing(Session& session, const ConstantL15& cache, std::vector<SharingCheck>& checks);

/// Leaves Memory::physical_cache as it is where `checks` say that the memory is one with another or apart from all it
/// was held against, and clears it elsewhere; says in the memory's structure which, and whether code shares it.
void keep_measured_identity(Memory& memory, std::span<const SharingCheck> checks);

/// Sets Memory::instances_per_scope, warp_instances and disturbance of each of `caches`.
Expected<void> find_instances(Session& session, std::span<const Measured> caches);

/// Where one module's constants all fit, the size comes from the banks of several.
Expected<void> find_constant_size(Session& session, ConstantL15& cache);

/// Sets the groups of the constant L1.5, the map of the chip and the sides of the L2. Quantities that can't be told
/// are left out, with a note in `provenance`.
Expected<void> find_places(Session& session, const SmCache* constant_l1, ConstantL15* constant_l1_5, L2* l2,
                           std::vector<SmPlace>& places, Provenance& provenance);

}  // namespace gputopo::experiments
