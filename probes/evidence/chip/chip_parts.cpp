#include "evidence/chip/chip_parts.hpp"

#include <algorithm>
#include <limits>

#include "evidence/chip/sm_sets.hpp"

namespace gputopo::evidence {
namespace {

// Those of `finer`, whose sets lie within others, that lie in this one.
SmSets parts_in(const std::vector<std::uint32_t>& set, const SmSets& finer) {
  SmSets parts;
  for (const auto& part : finer)
    if (std::find(set.begin(), set.end(), part.front()) != set.end()) parts.push_back(part);
  return parts;
}

// SMs of `coarser` that `finer` joins, where in each of its sets that is one part and single TPCs; 0 where it isn't: no
// part larger than a TPC is none that is known, and two may be two GPCs.
std::size_t joined_by(const SmSets& finer, const SmSets& tpcs, const SmSets& coarser) {
  std::size_t all = 0;
  for (const auto& set : coarser) {
    SmSets parts = parts_in(set, finer);
    std::erase_if(parts, [&](const auto& part) { return std::find(tpcs.begin(), tpcs.end(), part) != tpcs.end(); });
    if (parts.size() != 1) return 0;
    all += parts.front().size();
  }
  return all;
}

double separation_within(const Correlations& r, const SmSets& finer, const SmSets& coarser) {
  double least = std::numeric_limits<double>::max();
  for (const auto& set : coarser)
    if (const SmSets parts = parts_in(set, finer); parts.size() > 1) least = std::min(least, separation(r, parts));
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
  std::size_t gpcs = 0, cpcs = 0;  // of several that contradict each other none is known to be it
  for (const SmSets& candidate : candidates) {
    if (candidate == by_pairs) parts.tpc = candidate;
    if (!lie_within(clusters, candidate)) continue;
    SmSets known = clusters;
    for (const SmSets& other : candidates)
      if (other != candidate && lie_within(other, candidate)) known.insert(known.end(), other.begin(), other.end());
    const std::size_t sms_joined = joined_by(joined(known, sms), by_pairs, candidate);
    if (sms_joined == 0 || candidate == by_pairs) continue;
    ++gpcs;
    parts.gpc = candidate;
    parts.joined_sms = sms_joined;
  }
  if (gpcs > 1) parts.gpc.reset();
  if (!parts.gpc || !parts.tpc) return parts;
  for (const SmSets& candidate : candidates) {
    if (candidate == *parts.gpc || candidate == *parts.tpc) continue;
    if (!lie_within(candidate, *parts.gpc) || !lie_within(*parts.tpc, candidate)) continue;
    const double sure = separation_within(r, candidate, *parts.gpc);
    if (sure <= 0) continue;
    ++cpcs;
    parts.cpc = candidate;
    parts.cpc_separation = sure;
  }
  if (cpcs > 1) parts.cpc.reset();
  return parts;
}

}  // namespace gputopo::evidence
