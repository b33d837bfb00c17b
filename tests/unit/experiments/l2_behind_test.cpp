// What is behind the L2, told by what it just lost: memory, a cache, or its other side.
#include <gtest/gtest.h>

#include "answering_device.hpp"
#include "evidence/inference/estimates.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {
namespace {

constexpr double mebi = 1 << 20;

Estimate size_of(double bytes) {
  Estimate e = evidence::measured(bytes, "B", "slower_hits", 1000);
  e.interval = Interval{bytes, bytes};
  return e;
}

// Hits take 300 cycles, memory 800; 2 MiB are found before memory answers.
Findings with_l2() {
  Findings findings;
  findings.topology.gpu.sm_count = 4;
  evidence::CacheFacts& l2 = findings.caches["l2"];
  l2.path = evidence::l2_path;
  l2.present = true;
  l2.capacity_bytes = 2 << 20;
  l2.levels = evidence::levels_of({{300, 1000}}, {{800, 1000}});
  findings.l2_before_memory = size_of(2 * mebi);
  return findings;
}

// And 1 MiB is found near, what is slower takes 450; half of the SMs find what the others brought in as slow.
Findings with_two_sets() {
  Findings findings = with_l2();
  findings.beyond_near_l2 = {size_of(mebi), evidence::Mode{450, 450, 450, 1, 450, 1}, {}, {}};
  findings.beyond_own_l2 = {2, evidence::measured(450, "cycles", "first_loads", 100), 100};
  findings.beyond_own_l2->latency.interval = Interval{448, 452};
  findings.l2_sets = Findings::L2Sets();
  findings.l2_sets->sets = {{0, 1}, {2, 3}};
  findings.l2_sets->shares = true;
  return findings;
}

bool pushes_nothing_out(const program::Program& p) {
  const auto* between = p.phases.size() < 2 ? nullptr : std::get_if<program::Walk>(&p.phases[1]);
  return between != nullptr && between->stride_bytes > 4096;
}

// Lines that were lost take what `lost` says, those that were only out of sight of a TLB `kept`.
Findings behind(Findings findings, const AnsweringDevice::Answer& lost, std::uint32_t kept = 300) {
  AnsweringDevice device([&](const program::Program& p, const program::Walk& walk, std::size_t load) {
    return pushes_nothing_out(p) ? kept : lost(p, walk, load);
  });
  Session session(device, {});
  EXPECT_TRUE(measure_l2_behind(session, findings).has_value());
  return findings;
}

std::uint32_t from_memory(const program::Program&, const program::Walk&, std::size_t) {
  return 800;
}
std::uint32_t from_between(const program::Program&, const program::Walk&, std::size_t) {
  return 450;
}

TEST(L2Behind, WhatComesFromMemoryHasNoCacheBehind) {
  Findings f = behind(with_l2(), from_memory);
  EXPECT_TRUE(f.cache("l2")->is_before_memory);
  EXPECT_FALSE(f.cache("l2")->next_level.has_value());
  EXPECT_EQ(*f.memory("l2").find("size")->value, 2 * mebi);
}

TEST(L2Behind, WhatComesSoonerHas) {
  Findings f = behind(with_l2(), from_between);
  EXPECT_FALSE(f.cache("l2")->is_before_memory);
  ASSERT_TRUE(f.cache("l2")->next_level.has_value());
  EXPECT_EQ(f.cache("l2")->next_level->centre, 450);
}

// Lines that nothing pushed out are as late.
TEST(L2Behind, WhatComesSoonerMayHaveLostItsTranslationAlone) {
  Findings f = behind(with_l2(), from_between, 450);
  EXPECT_FALSE(f.cache("l2")->is_before_memory);
  EXPECT_FALSE(f.cache("l2")->next_level.has_value());
  EXPECT_TRUE(f.cache("l2")->next_loads.empty());
}

// Memory brings the more of what was lost, and of every page the first line takes a TLB's miss, which is no level.
TEST(L2Behind, TheLevelThatIsNextIsToldFromMemoryAndFromTranslation) {
  Findings f = behind(with_l2(), [](const auto&, const program::Walk& walk, std::size_t load) {
    const std::uint64_t at = walk.first_byte + load * walk.stride_bytes;
    if (at % 4096 < walk.stride_bytes) return 380U;
    return load % 5 < 2 ? 450U : 800U;
  });
  EXPECT_FALSE(f.cache("l2")->is_before_memory);
  ASSERT_TRUE(f.cache("l2")->next_level.has_value());
  EXPECT_EQ(f.cache("l2")->next_level->centre, 450);
}

TEST(L2Behind, SetsBeforeMemoryAreSides) {
  Findings f = behind(with_two_sets(), from_memory);
  Memory& l2 = f.memory("l2");
  EXPECT_EQ(*l2.find("partitions")->value, 2);
  EXPECT_EQ(*l2.find("far_latency")->value, 450);
  ASSERT_NE(l2.find("partition_size"), nullptr);
  EXPECT_EQ(*l2.find("partition_size")->value, mebi);
  EXPECT_EQ(*l2.find("size")->value, 2 * mebi);
  ASSERT_EQ(f.topology.sm_places.size(), 4U);
  EXPECT_EQ(f.topology.sm_places[1].l2_partition, 0U);
  EXPECT_EQ(f.topology.sm_places[2].l2_partition, 1U);
}

// What memory needn't bring again is a bound: how much of it copies take the place of follows from who asked for what.
TEST(L2Behind, SidesHoldWhatSmsOfEachFindNear) {
  Findings found = with_two_sets();
  found.l2_before_memory.status = Status::lower_bound;
  found.beyond_near_l2->near.interval = Interval{0.98 * mebi, 1.02 * mebi};
  found.beyond_near_l2->by_set = {found.beyond_near_l2->near, found.beyond_near_l2->near};
  const Estimate both = *behind(found, from_memory).memory("l2").find("size");
  EXPECT_EQ(both.status, Status::measured);
  EXPECT_EQ(*both.value, 2 * mebi);
  EXPECT_EQ(both.interval->low, 2 * 0.98 * mebi);
  EXPECT_EQ(both.interval->high, 2 * 1.02 * mebi);
  found.beyond_near_l2->by_set.clear();
  const Estimate one = *behind(found, from_memory).memory("l2").find("size");
  EXPECT_EQ(one.status, Status::lower_bound);
  EXPECT_EQ(*one.value, mebi);
}

TEST(L2Behind, SidesThatAreAlikeAreTheirMean) {
  Findings found = with_two_sets();
  found.l2_before_memory.status = Status::lower_bound;
  const auto counted = [](double low, double value, double high) {
    Estimate e = size_of(value * mebi);
    e.interval = Interval{low * mebi, high * mebi};
    return e;
  };
  found.beyond_near_l2->near = counted(1, 1, 1.04);
  found.beyond_near_l2->by_set = {counted(1, 1.01, 1.02), counted(1.01, 1.03, 1.05)};
  Memory alike = behind(found, from_memory).memory("l2");
  EXPECT_EQ(*alike.find("partition_size")->value, mebi);
  EXPECT_DOUBLE_EQ(alike.find("partition_size")->interval->high, 1.035 * mebi);
  found.beyond_near_l2->by_set = {counted(1, 1.02, 1.04), counted(1.28, 1.3, 1.32)};
  Memory unlike = behind(found, from_memory).memory("l2");
  EXPECT_EQ(unlike.find("partition_size")->interval->high, 1.04 * mebi);  // of the one that was asked
  EXPECT_EQ(*unlike.find("size")->value, 2.375 * mebi);
}

// What was counted then is its own, whatever brings lost lines again.
TEST(L2Behind, ACacheBehindIsNoMatterWhereLostLinesToldMisses) {
  Findings found = with_l2();
  found.lost_by_l2 = evidence::Histogram{{450, 1000}};
  const Estimate size = *behind(found, from_between).memory("l2").find("size");
  EXPECT_EQ(size.status, Status::measured);
  EXPECT_EQ(*size.value, 2 * mebi);
}

TEST(L2Behind, SetsBeforeACacheAreL2sOfTheirOwn) {
  Findings f = behind(with_two_sets(), from_between);
  Memory& l2 = f.memory("l2");
  EXPECT_EQ(l2.find("partitions"), nullptr);
  EXPECT_EQ(l2.structure["l2_sides"].value, "1");
  EXPECT_EQ(*l2.find("size")->value, mebi);
  ASSERT_TRUE(f.cache("l2")->next_level.has_value());
}

// What the other set brought in takes 450, what was lost 500.
TEST(L2Behind, SetsMayHaveSidesAndACacheBehindThem) {
  Findings f = behind(with_two_sets(), [](const auto&, const auto&, std::size_t) { return 500U; });
  Memory& l2 = f.memory("l2");
  ASSERT_NE(l2.find("partitions"), nullptr);
  EXPECT_EQ(*l2.find("partitions")->value, 2);
  EXPECT_EQ(*l2.find("partition_size")->value, mebi);
  EXPECT_EQ(l2.find("size")->status, Status::inconclusive);
  ASSERT_TRUE(f.cache("l2")->next_level.has_value());
  EXPECT_EQ(f.cache("l2")->next_level->centre, 500);
  EXPECT_FALSE(f.cache("l2")->is_before_memory);
}

// Its size is what SMs of each side find near.
TEST(L2Behind, SidesBeforeACacheHoldWhatSmsOfEachFindNear) {
  Findings found = with_two_sets();
  found.beyond_near_l2->by_set = {size_of(mebi), size_of(1.5 * mebi)};
  const Memory l2 = behind(found, [](const auto&, const auto&, std::size_t) { return 500U; }).memory("l2");
  EXPECT_EQ(l2.find("size")->status, Status::measured);
  EXPECT_EQ(*l2.find("size")->value, 2.5 * mebi);
}

// What comes no half level later than from the other side may be that side's: no level behind both.
TEST(L2Behind, ALevelAsNearAsTheOtherSideIsNotTheOneBehindSides) {
  Findings found = with_two_sets();
  found.l2_sets->far.assign(100, 450);
  found.cache("l2")->levels = evidence::levels_of({{300, 500}, {450, 500}}, {{800, 1000}});
  Findings f = behind(found, [](const auto&, const auto&, std::size_t load) { return load % 5 == 0 ? 455U : 600U; });
  EXPECT_NE(f.memory("l2").find("partitions"), nullptr);
  EXPECT_FALSE(f.cache("l2")->next_level.has_value());
}

// Some is lost to memory and some isn't: neither sides nor a cache behind does that.
TEST(L2Behind, AMixtureLeavesItOpen) {
  const Findings found =
      behind(with_two_sets(), [](const auto&, const auto&, std::size_t load) { return load % 2 == 0 ? 450U : 800U; });
  Findings f = found;
  EXPECT_EQ(f.memory("l2").find("size")->status, Status::inconclusive);
  EXPECT_EQ(f.memory("l2").find("partitions"), nullptr);
}

// Lines whose homes are known by SM: near ones take 300 cycles and far ones 450.
Findings with_homes() {
  Findings findings = with_l2();
  findings.caches["l2"].levels = evidence::levels_of({{300, 500}, {450, 500}}, {{800, 1000}});
  findings.caches["l2"].line_bytes = 128;
  findings.lines_have_sides = true;
  auto& attributes = findings.memory("l2").attributes;
  attributes["partitions"] = evidence::measured(2, "", "lines_by_sm", 100);
  attributes["line_size"] = evidence::measured(128, "B", "pair_fates", 100);
  return findings;
}

TEST(L2Behind, SidesThatLoseLinesToMemoryHoldWhatWasFound) {
  Findings f = behind(with_homes(), [](const auto&, const auto&, std::size_t load) {
    return load % 4 == 0 ? 300U : load % 4 == 1 ? 450U : 800U;
  });
  EXPECT_EQ(*f.memory("l2").find("size")->value, 2 * mebi);
  EXPECT_EQ(*f.memory("l2").find("partition_size")->value, mebi);
  EXPECT_EQ(*f.memory("l2").find("line_size")->value, 128);
}

// Half of what was lost takes 560: too far for its far side, too near for memory. What was found before memory is what
// that cache holds, and so are the lines.
TEST(L2Behind, SidesThatLoseLinesToACacheDoNot) {
  Findings f = behind(with_homes(), [](const auto&, const auto&, std::size_t load) {
    return load % 4 == 0 ? 300U : load % 4 == 1 ? 800U : 560U;
  });
  EXPECT_EQ(f.memory("l2").find("size")->status, Status::inconclusive);
  EXPECT_EQ(f.memory("l2").find("partition_size"), nullptr);
  EXPECT_EQ(f.memory("l2").find("line_size")->status, Status::inconclusive);
  EXPECT_EQ(f.cache("l2")->line_bytes, 0U);
}

// Beside another program that fills it lines that were lost aren't asked, and loads that it delays may hide a cache
// behind among those that were found before memory.
TEST(L2Behind, ACacheBehindMayHideAmongLoadsThatOthersDelay) {
  for (const bool are_delayed : {false, true}) {
    Findings f = with_l2();
    f.others_fill_l2 = true;
    f.others_delay_loads = are_delayed;
    evidence::bound_below(f.l2_before_memory, "another program fills the L2 while it is measured");
    const Estimate size = *behind(std::move(f), from_memory).memory("l2").find("size");
    EXPECT_EQ(size.status, are_delayed ? Status::inconclusive : Status::lower_bound);
  }
}

// Whatever leaves the size open: memory right behind it leaves no other cache whose lines these might be.
TEST(L2Behind, LinesThatMemoryBringsAgainAreItsOwn) {
  for (const bool is_memory : {true, false}) {
    Findings f = with_l2();
    f.l2_before_memory = evidence::inconclusive("B", "memory_loads", "far hits can't be told from memory's loads");
    f.memory("l2").attributes["line_size"] = evidence::measured(128, "B", "pair_fates", 100);
    f = behind(std::move(f), is_memory ? from_memory : from_between);
    EXPECT_EQ(f.memory("l2").find("size")->status, Status::inconclusive);
    EXPECT_EQ(f.memory("l2").find("line_size")->has_value(), is_memory);
  }
}

TEST(L2Behind, TheDriversFigureStandsBesideTheMeasuredOne) {
  AnsweringDevice device(from_memory);
  device.change_info().l2_bytes = 2 << 20;
  Session session(device, {});
  Findings f = with_l2();
  f.memory("l2").attributes["size"] = evidence::from_api(2 * mebi, "B");
  ASSERT_TRUE(measure_l2_behind(session, f).has_value());
  EXPECT_EQ(f.memory("l2").find("size")->status, Status::api);
  EXPECT_EQ(*f.memory("l2").find("measured_size")->value, 2 * mebi);
}

}  // namespace
}  // namespace gputopo::experiments
