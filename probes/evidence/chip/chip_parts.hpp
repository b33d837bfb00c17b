// Which groups of SMs are TPCs, CPCs and GPCs: what SMs share, found by eviction, against where clusters of blocks are
// put and how SMs see the L2. Two ways that know nothing of one another have to agree.
#pragma once

#include <optional>

#include "evidence/chip/sm_clusters.hpp"
#include "evidence/looks/structure.hpp"

namespace gputopo::evidence {

struct ChipParts {
  /// Partitions of all SMs, out of the candidates; nothing where the other way doesn't say the same, or
  /// says it of several.
  std::optional<SmSets> tpc, cpc, gpc;
  std::size_t joined_sms = 0;  ///< of the GPCs: SMs that clusters and smaller parts join to others of their own
  double cpc_separation = 0;   ///< the least sure SM's, within its GPC
};

/// `candidates` are partitions of all SMs by what they share, `clusters` the SMs that each cluster of blocks ran on
/// (of one GPC: CUDA C++ Programming Guide, 'Thread Block Clusters'), `r` how alike SMs see the L2.
/// TPCs: what clusters of two are put on, exactly. GPCs: no cluster is of two, and clusters together with candidates
/// that lie within join the SMs of each but for TPCs that no larger cluster has: these lie there by the candidate
/// alone. CPCs: lie within GPCs and TPCs within them, and every SM sees the L2 most like those of its own, of its
/// GPC's.
ChipParts chip_parts(const std::vector<SmSets>& candidates, const SmSets& clusters, const Correlations& r);

}  // namespace gputopo::evidence
