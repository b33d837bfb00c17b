// A set's policy by what it loses of sequences: told where one alone would lose that, left open elsewhere.
#include "evidence/organisation/policy_sequences.hpp"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace gputopo::evidence {
namespace {

constexpr std::uint32_t ways = 8;

// What a set of the policy loses that many lines went through before.
std::vector<bool> missed_by(Policy policy, std::uint32_t set_ways, const std::vector<std::uint32_t>& sequence,
                            std::uint32_t lines_before) {
  PolicySet set(policy, set_ways);
  for (std::uint32_t i = 0; i < lines_before; ++i) set.load(1000 + i);
  std::vector<bool> missed;
  for (const std::uint32_t line : sequence) missed.push_back(set.load(line));
  return missed;
}

// One in a hundred of its loads a miss, whatever the set holds.
void disturb(std::vector<bool>& missed, std::mt19937& draw) {
  for (std::size_t i = 0; i < missed.size(); ++i)
    if (draw() % 100 == 0) missed[i] = true;
}

std::string said_of(Policy policy, std::uint32_t set_ways, std::uint32_t lines_before, bool disturbed = false) {
  PolicyVote vote(set_ways + 1);
  std::mt19937 draw(7);
  for (int set = 0; set < 3; ++set) {
    std::vector<SequenceMisses> lost;
    for (const auto& sequence : telling_sequences(set_ways + 1)) {
      auto missed = missed_by(policy, set_ways, sequence, lines_before);
      if (disturbed) disturb(missed, draw);
      lost.push_back(misses_by_load(set_ways, sequence, sequence.size() / 4, missed));
    }
    vote.add(std::move(lost));
  }
  return vote.statement("test", 3).value;
}

TEST(PolicySequences, TellEachPolicyWhateverTheSetHadBefore) {
  for (const std::uint32_t before : {8U, 9U, 13U, 27U, 1000U})
    for (const auto& [policy, name] : known_policies) EXPECT_EQ(said_of(policy, ways, before), name) << before;
}

TEST(PolicySequences, TellEachPolicyAmongStrangers) {
  for (const auto& [policy, name] : known_policies) EXPECT_EQ(said_of(policy, ways, 8, true), name);
}

// Of two ways a tree of bits is LRU, and is called so.
TEST(PolicySequences, CallATreeOfTwoWaysLru) {
  EXPECT_EQ(said_of(Policy::tree, 2, 2), "lru");
}

TEST(PolicySequences, AreEnoughByTheirCountsAlone) {
  for (const auto& [policy, name] : known_policies) {
    PolicyVote vote(ways + 1);
    std::vector<SequenceMisses> lost;
    for (const auto& sequence : telling_sequences(ways + 1)) {
      const auto missed = missed_by(policy, ways, sequence, ways);
      const std::size_t from = sequence.size() / 2;
      const auto found = static_cast<std::uint64_t>(std::count(missed.begin() + from, missed.end(), true));
      lost.push_back(misses_by_count(ways, sequence, from, found, found));
    }
    vote.add(std::move(lost));
    EXPECT_EQ(vote.statement("test", 1).value, name) << vote.statement("test", 1).note;
  }
}

// Others only add: what loses fewer now and then goes by chance, though the middle of the looks is as a policy's.
TEST(PolicySequences, DontCountWhatLosesFewerNowAndThen) {
  for (const std::uint64_t fewer : {0U, 1U}) {
    PolicyVote vote(ways + 1);
    std::vector<SequenceMisses> lost;
    for (const auto& sequence : telling_sequences(ways + 1)) {
      const auto missed = missed_by(Policy::tree, ways, sequence, ways);
      const std::size_t from = sequence.size() / 2;
      const auto found = static_cast<std::uint64_t>(std::count(missed.begin() + from, missed.end(), true));
      lost.push_back(misses_by_count(ways, sequence, from, found, found - fewer));
    }
    vote.add(std::move(lost));
    EXPECT_EQ(vote.statement("test", 1).status == Status::measured, fewer == 0);
  }
}

TEST(PolicySequences, LeaveOpenWhatGoesByChance) {
  std::mt19937 draw(3);
  PolicyVote vote(ways + 1);
  std::vector<SequenceMisses> lost;
  for (const auto& sequence : telling_sequences(ways + 1)) {
    std::vector<std::uint32_t> held;
    std::vector<bool> missed;
    for (const std::uint32_t line : sequence) {
      const bool miss = std::find(held.begin(), held.end(), line) == held.end();
      missed.push_back(miss);
      if (!miss) continue;
      if (held.size() < ways)
        held.push_back(line);
      else
        held[draw() % ways] = line;
    }
    lost.push_back(misses_by_load(ways, sequence, sequence.size() / 4, missed));
  }
  vote.add(std::move(lost));
  const Statement said = vote.statement("test", 1);
  EXPECT_EQ(said.value, "");
  EXPECT_NE(said.note.find("alone explain 0, 0, 0 of 1 sets"), std::string::npos);
}

std::vector<SequenceMisses> losses_of(Policy policy) {
  std::vector<SequenceMisses> lost;
  for (const auto& sequence : telling_sequences(ways + 1))
    lost.push_back(misses_by_load(ways, sequence, 0, missed_by(policy, ways, sequence, ways)));
  return lost;
}

// A set that another line is loaded into before each: nothing hits.
std::vector<SequenceMisses> all_lost() {
  std::vector<SequenceMisses> lost;
  for (const auto& sequence : telling_sequences(ways + 1))
    lost.push_back(misses_by_load(ways, sequence, 0, std::vector<bool>(sequence.size(), true)));
  return lost;
}

TEST(PolicySequences, TellNothingOfSetsThatEachGoByAnotherPolicy) {
  PolicyVote vote(ways + 1);
  EXPECT_TRUE(vote.add(losses_of(Policy::lru)));
  EXPECT_TRUE(vote.add(losses_of(Policy::lru)));
  EXPECT_TRUE(vote.add(losses_of(Policy::tree)));
  EXPECT_EQ(vote.statement("test", 3).value, "");
}

TEST(PolicySequences, NeedTwoSetsAndLeaveOutWhatNoneExplains) {
  PolicyVote vote(ways + 1);
  EXPECT_FALSE(vote.add(all_lost()));
  EXPECT_TRUE(vote.add(losses_of(Policy::tree)));
  EXPECT_EQ(vote.statement("test", 2).value, "");
  EXPECT_TRUE(vote.add(losses_of(Policy::tree)));
  const Statement said = vote.statement("test", 3);
  EXPECT_EQ(said.value, "tree");
  EXPECT_NE(said.note.find("so in 2 of 3 sets"), std::string::npos) << said.note;
}

TEST(PolicySequences, OfSeveralLooksTheBestExplainedCounts) {
  const std::vector<SequenceMisses> looks{all_lost()[1], losses_of(Policy::fifo)[1], all_lost()[1]};
  EXPECT_EQ(best_explained(looks).wrong[1], 0U);
}

}  // namespace
}  // namespace gputopo::evidence
