// SMs that find near what one of them brought in: by first looks against the next ones.
#include <gtest/gtest.h>

#include "answering_device.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {
namespace {

constexpr std::uint32_t near_cycles = 300, far_cycles = 450, memory_cycles = 800;

// Loads of memory take 800 cycles, next looks 300, and first looks what `first` says of the owner and the looking SM.
Findings::L2Sets sets_where(const std::function<std::uint32_t(std::uint32_t, std::uint32_t, std::size_t)>& first) {
  bool is_next = false;
  AnsweringDevice device(
      [&](const program::Program& p, const program::Walk& walk, std::size_t load) {
        if (walk.record == program::Record::histogram) return memory_cycles;
        if (load == 0) is_next = !is_next;  // two looks at each stretch
        return is_next ? first(*p.agents[0].sm, *p.agents[walk.agent].sm, load) : near_cycles;
      },
      4);
  Session session(device, {});
  Findings findings;
  evidence::CacheFacts& l2 = findings.caches["l2"];
  l2.present = true;
  l2.levels = evidence::levels_of({{near_cycles, 1000}, {far_cycles, 500}}, {{memory_cycles, 1000}});
  findings.caches["device_memory"].capacity_bytes = 256 << 20;
  EXPECT_TRUE(measure_l2_sets(session, findings).has_value());
  EXPECT_TRUE(findings.l2_sets.has_value());
  return findings.l2_sets.value_or(Findings::L2Sets{});
}

using Sets = std::vector<std::vector<std::uint32_t>>;

TEST(L2Sets, AreOneWhereAllFindItNear) {
  const auto found = sets_where([](auto, auto, std::size_t) { return near_cycles; });
  EXPECT_EQ(found.sets, (Sets{{0, 1, 2, 3}}));
  EXPECT_FALSE(found.shares);
}

// Half of the lines have their home on the other side: slow at first, then copied.
TEST(L2Sets, AreTwoWhereFirstLooksAreFar) {
  const auto found = sets_where([](std::uint32_t owner, std::uint32_t sm, std::size_t load) {
    return owner % 2 != sm % 2 && load % 2 == 0 ? far_cycles : near_cycles;
  });
  EXPECT_EQ(found.sets, (Sets{{0, 2}, {1, 3}}));
  EXPECT_TRUE(found.shares);
  EXPECT_TRUE(found.why_open.empty());
  ASSERT_FALSE(found.far.empty());
  for (const double cycles : found.far) EXPECT_EQ(cycles, far_cycles);
}

TEST(L2Sets, ShareNothingWhereOthersLoadFromMemory) {
  const auto found = sets_where([](std::uint32_t owner, std::uint32_t sm, std::size_t) {
    return owner / 2 == sm / 2 ? near_cycles : memory_cycles;
  });
  EXPECT_EQ(found.sets, (Sets{{0, 1}, {2, 3}}));
  EXPECT_FALSE(found.shares);
}

// One line in ten is slower at first, by strangers: that is no other set.
TEST(L2Sets, AFewSlowLooksMakeNoSet) {
  const auto found = sets_where([](auto, auto, std::size_t load) { return load % 10 == 3 ? far_cycles : near_cycles; });
  EXPECT_EQ(found.sets, (Sets{{0, 1, 2, 3}}));
}

// A small L2 loses a line in four again before others look: of another set half would be slower.
TEST(L2Sets, LinesLostAgainMakeNoSet) {
  const auto found = sets_where([](auto, auto, std::size_t load) { return load % 4 == 3 ? far_cycles : near_cycles; });
  EXPECT_TRUE(!found.why_open.empty() || found.sets == (Sets{{0, 1, 2, 3}}));
}

TEST(L2Sets, AreOpenWhereSomeFindAPartAndSomeNothing) {
  const auto found = sets_where([](std::uint32_t owner, std::uint32_t sm, std::size_t) {
    return owner == sm ? near_cycles : owner + sm == 3 ? memory_cycles : far_cycles;
  });
  EXPECT_FALSE(found.why_open.empty());
}

}  // namespace
}  // namespace gputopo::experiments
