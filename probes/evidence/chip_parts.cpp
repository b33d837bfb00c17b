#include "evidence/chip_parts.hpp"

#include <algorithm>
#include <limits>

#include "evidence/sm_sets.hpp"

namespace gputopo::evidence {
namespace {

SmSets with_more(SmSets sets, const SmSets& more) {
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

// SMs of `coarser` that `finer` joins, where in each of its sets that is one part and single TPCs; 0 where it isn't: no
// part larger than a TPC is none that is known, and two may be two GPCs.
std::size_t joined_by(const SmSets& finer, const SmSets& tpcs, const SmSets& coarser) {
  std::size_t all = 0;
  for (const auto& set : coarser) {
    std::size_t parts = 0;
    for (const auto& part : finer) {
      const bool is_here = std::find(set.begin(), set.end(), part.front()) != set.end();
      if (!is_here || std::find(tpcs.begin(), tpcs.end(), part) != tpcs.end()) continue;
      ++parts;
      all += part.size();
    }
    if (parts != 1) return 0;
  }
  return all;
}

double separation_within(const Correlations& r, const SmSets& finer, const SmSets& coarser) {
  double least = std::numeric_limits<double>::max();
  for (const auto& set : coarser) {
    SmSets parts;
    for (const auto& part : finer)
      if (std::find(set.begin(), set.end(), part.front()) != set.end()) parts.push_back(part);
    if (parts.size() > 1) least = std::min(least, separation(r, parts));
  }
  return least == std::numeric_limits<double>::max() ? 0 : least;
}

}  // namespace

ChipParts chip_parts(const std::vector<SmSets>& candidates, const SmSets& clusters, const Correlations& r) {
  ChipParts parts;
  const auto sms = static_cast<std::uint32_t>(r.size());
  SmSets pairs;
  for (const auto& cluster : clusters)
    if (cluster.size() == 2) pairs.push_back(cluster);
  const SmSets by_pairs = joined(pairs, sms);
  for (const SmSets& candidate : candidates) {
    if (candidate == by_pairs) parts.tpc = candidate;
    if (!lie_within(clusters, candidate)) continue;
    SmSets known = clusters;
    for (const SmSets& other : candidates)
      if (other != candidate && lie_within(other, candidate)) known = with_more(std::move(known), other);
    const std::size_t sms_joined = joined_by(joined(known, sms), by_pairs, candidate);
    if (sms_joined == 0 || candidate == by_pairs) continue;
    parts.gpc = candidate;
    parts.joined_sms = sms_joined;
  }
  if (!parts.gpc || !parts.tpc) return parts;
  for (const SmSets& candidate : candidates) {
    if (candidate == *parts.gpc || candidate == *parts.tpc) continue;
    if (!lie_within(candidate, *parts.gpc) || !lie_within(*parts.tpc, candidate)) continue;
    const double sure = separation_within(r, candidate, *parts.gpc);
    if (sure <= 0) continue;
    parts.cpc = candidate;
    parts.cpc_separation = sure;
  }
  return parts;
}

}  // namespace gputopo::evidence
