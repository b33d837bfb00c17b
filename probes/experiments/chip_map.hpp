// Where does an SM sit? Each SM alone times the same L2 lines; SMs that sit side by side see the same pattern of near
// and far slices. Correlation of those vectors groups SMs into TPCs, CPCs, GPCs and the two sides of the L2.
#pragma once

#include <string>
#include <vector>

#include "experiments/session.hpp"
#include "topology/topology.hpp"

namespace gputopo::experiments {

using SmSets = std::vector<std::vector<std::uint32_t>>;

struct ChipMap {
  std::vector<SmPlace> places;  ///< one an SM, empty where latencies don't tell SMs apart
  SmSets partitions;            ///< SMs by side of the L2; one set where there is no second side
  /// How well the sets separate: over all members (SMs, or TPCs for CPCs), the least margin between the average
  /// correlation with their own set and that with the next best one. SMs get no CPC where this isn't positive.
  double partition_separation = 0;
  double cpc_separation = 0;  ///< 0 where no CPCs were looked for
  std::string problem;
};

/// Latency vectors: `latencies[sm][line]`, cycles, the least of several repetitions.
Expected<std::vector<std::vector<double>>> measure_latency_vectors(Session& session, std::size_t lines);

/// How a GPC falls into CPCs; zeros for GPUs without them.
struct CpcShape {
  std::size_t cpcs_per_gpc = 0;
  std::size_t tpcs_per_cpc = 0;  ///< at most; some are switched off
};

/// Reads a map from latency vectors; `gpcs` are the groups that share a constant L1.5, empty where unknown. Each is
/// split into CPCs by average linkage over TPCs (SMs 2k and 2k + 1).
ChipMap map_of(const std::vector<std::vector<double>>& latencies, const SmSets& gpcs, const CpcShape& shape);

}  // namespace gputopo::experiments
