#include "evidence/organisation/eviction_policy.hpp"

#include <algorithm>

#include "evidence/inference/estimates.hpp"
#include "evidence/looks/structure.hpp"
#include "evidence/organisation/drawn_losses.hpp"
#include "evidence/organisation/policy_sequences.hpp"

namespace gputopo::evidence {
namespace {

// By sequences of which policies that go by order lose different numbers.
Expected<Statement> replacement_by_order(Session& session, Evictions& look, const std::vector<EvictionSet>& sets,
                                         std::string_view memory, std::string_view method) {
  constexpr std::size_t looks = 5;
  const std::size_t lines = sets.front().lines.size();
  const auto sequences = telling_sequences(static_cast<std::uint32_t>(lines));
  PolicyVote vote(lines);
  for (const EvictionSet& set : sets) {
    std::vector<SequenceMisses> lost;
    for (const auto& sequence : sequences) {
      auto missed = look.of_sequence(set.lines, sequence, looks);
      if (!missed) return tl::unexpected<Error>(missed.error());
      std::vector<std::uint64_t> misses;
      for (const auto& loads : *missed)
        misses.push_back(static_cast<std::uint64_t>(std::count(loads.begin(), loads.end(), true)));
      std::sort(misses.begin(), misses.end());
      lost.push_back(misses_by_count(static_cast<std::uint32_t>(lines - 1), sequence, (sequence.size() + 1) / 2,
                                     misses[1], misses[0]));  // strangers only add
    }
    vote.add(std::move(lost));
  }
  session.keep(vote.curve(memory));
  return vote.statement(method, sets.size() * sequences.size() * looks);
}

// By what sets lose that aren't lost whole in each round.
Expected<Statement> replacement_by_chance(Session& session, Evictions& look, const std::vector<EvictionSet>& sets,
                                          std::string_view memory, std::string_view method) {
  constexpr std::size_t looks = 4, rounds = 128;  // half of them recorded, with two losses each
  const std::size_t lines = sets.front().lines.size();
  std::vector<std::uint32_t> in_turn;
  for (std::size_t i = 0; i < rounds * lines; ++i) in_turn.push_back(static_cast<std::uint32_t>(i % lines));
  std::vector<std::vector<Look>> runs;
  for (const EvictionSet& set : sets) {
    auto missed = look.of_sequence(set.lines, in_turn, looks);
    if (!missed) return tl::unexpected<Error>(missed.error());
    for (const auto& loads : *missed) {
      runs.emplace_back();
      for (std::size_t i = 0; i < loads.size(); ++i)
        runs.back().push_back({static_cast<std::uint32_t>(i % lines), loads[i]});
    }
  }
  session.keep(gaps_curve(memory, runs));
  const Replacement found = judge_losses(runs, lines - 1, look.cache().false_miss);
  Statement s = found.policy.empty() ? undecided(method, found.excluded)
                                     : decided(found.policy, method, runs.size() * runs.front().size());
  s.note = found.excluded;
  return s;
}

}  // namespace

Expected<Statement> replacement_of(Session& session, Evictions& look, const std::vector<EvictionSet>& sets,
                                   std::string_view memory, std::string_view method) {
  if (sets.front().lines.size() == 2) return decided("none", method, sets.size());
  const bool loses_all = sets.front().all_lose > 0.5 * static_cast<double>(sets.front().lines.size());
  return loses_all ? replacement_by_order(session, look, sets, memory, method)
                   : replacement_by_chance(session, look, sets, memory, method);
}

}  // namespace gputopo::evidence
