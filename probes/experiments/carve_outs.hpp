// Unified L1 caches: how much of the array is left to the cache at each shared-memory carve-out.
//
// A block that needs more shared memory gets a larger carve-out, so the carve-out in force is found exactly: it is the
// most shared memory a block can have before the resident L1 shrinks. Usable L1 plus carve-out is the same at every
// step; what is missing to the whole array is kept by the hardware. That explains the 6 to 8 KiB by which measured L1
// sizes fall short of the nominal ones from Volta on (Größler 2022, section 5.3): a fixed reservation, not replacement.
#pragma once

#include <vector>

#include "experiments/session.hpp"
#include "experiments/sm_cache.hpp"
#include "topology/topology.hpp"

namespace gputopo::experiments {

/// One row for each carve-out from the smallest on. Empty where lines can't be probed or the L1 doesn't follow the
/// carve-out. Needs the cache as measured at carve-out 0.
Expected<std::vector<CarveOut>> measure_carve_outs(Session& session, const CachePath& path, const SmCache& l1);

/// The same table with usable and reserved bytes counted through another path of the same physical cache.
Expected<std::vector<CarveOut>> recount_carve_outs(Session& session, const CachePath& path, const SmCache& cache,
                                                   const std::vector<CarveOut>& table);

}  // namespace gputopo::experiments
