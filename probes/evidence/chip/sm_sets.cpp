#include "evidence/chip/sm_sets.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace gputopo::evidence {

SmSets joined(const SmSets& sets, std::uint32_t sm_count) {
  std::vector<std::uint32_t> first(sm_count);  // SM of the set that each is in so far
  std::iota(first.begin(), first.end(), 0U);
  for (const auto& set : sets) {
    for (const std::uint32_t sm : set) {
      const std::uint32_t into = std::min(first.at(sm), first.at(set.front()));
      const std::uint32_t from = std::max(first.at(sm), first.at(set.front()));
      std::replace(first.begin(), first.end(), from, into);
    }
  }
  std::map<std::uint32_t, std::vector<std::uint32_t>> by_first;
  for (std::uint32_t sm = 0; sm < sm_count; ++sm) by_first[first[sm]].push_back(sm);
  SmSets result;
  for (auto& [sm, set] : by_first) result.push_back(std::move(set));
  return result;
}

bool lie_within(const SmSets& finer, const SmSets& coarser) {
  std::map<std::uint32_t, std::size_t> set_of;
  for (std::size_t i = 0; i < coarser.size(); ++i)
    for (const std::uint32_t sm : coarser[i]) set_of[sm] = i;
  return std::all_of(finer.begin(), finer.end(), [&](const auto& set) {
    return std::all_of(set.begin(), set.end(),
                       [&](std::uint32_t sm) { return set_of.at(sm) == set_of.at(set.front()); });
  });
}

}  // namespace gputopo::evidence
