// The arithmetic of a miss penalty: lower quartiles of looks that missed, less that of hits.
#include <gtest/gtest.h>

#include "answering_device.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/inference/modes.hpp"
#include "experiments/discover.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {
namespace {

Findings with_l1() {
  Findings findings;
  evidence::CacheFacts& l1 = findings.caches["l1"];
  l1.path = evidence::l1_path;
  l1.present = true;
  l1.line_bytes = 128;
  l1.capacity_bytes = 16 << 10;
  l1.levels = evidence::levels_of({{40, 1000}}, {{240, 1000}});
  return findings;
}

Estimate penalty_where(const AnsweringDevice::Answer& answer, Findings findings = with_l1()) {
  AnsweringDevice device(answer);
  Session session(device, {});
  EXPECT_TRUE(measure_penalty(session, findings, evidence::l1_path).has_value());
  return findings.memory("l1").attributes["miss_penalty"];
}

TEST(Penalty, IsWhatALostLineTakesLessThanAHit) {
  const Estimate e = penalty_where([](const auto&, const auto&, std::size_t) { return 240U; });
  ASSERT_EQ(e.status, Status::measured);
  EXPECT_DOUBLE_EQ(*e.value, 200);
  EXPECT_LE(e.interval->low, 200);
  EXPECT_GE(e.interval->high, 200);
}

// Two looks of three wait for others' traffic, by as much as the level is away.
TEST(Penalty, WaitingHasNoPartInIt) {
  int look = 0;
  const Estimate e =
      penalty_where([&](const auto&, const auto&, std::size_t) { return ++look % 3 == 0 ? 240U : 440U; });
  ASSERT_EQ(e.status, Status::measured);
  EXPECT_NEAR(*e.value, 200, 0.5);
}

// Half of the lines are found again: they aren't lost, and say nothing of what loss costs.
TEST(Penalty, LinesThatAreStillThereHaveNoPartInIt) {
  const Estimate e = penalty_where(
      [](const auto&, const program::Walk& walk, std::size_t) { return walk.first_byte / 1152 % 2 == 0 ? 40U : 240U; });
  ASSERT_EQ(e.status, Status::measured);
  EXPECT_DOUBLE_EQ(*e.value, 200);
}

TEST(Penalty, IsOpenWhereHardlyAnythingIsLost) {
  EXPECT_EQ(penalty_where([](const auto&, const auto&, std::size_t) { return 40U; }).status, Status::inconclusive);
}

TEST(Penalty, IsABoundWhereLinesMayLieNearAndFar) {
  Findings findings = with_l1();
  findings.may_have_sides = true;
  const Estimate e = penalty_where([](const auto&, const auto&, std::size_t) { return 240U; }, findings);
  EXPECT_EQ(e.status, Status::upper_bound);
  EXPECT_DOUBLE_EQ(*e.value, 201);  // twice as far as the end of its interval: clocks have whole cycles
}

constexpr std::uint64_t page_bytes = 32 << 10;  // of each line another one

// An L2 whose sides are open: an eighth of its lines take 240 cycles, the others 300.
Findings before_an_l2() {
  Findings findings = with_l1();
  findings.may_have_sides = true;
  evidence::CacheFacts& l2 = findings.caches["l2"];
  l2.present = true;
  l2.by_line = {300, 300, 300, 300, 300, 300, 300, 240};
  return findings;
}

// Through the L1 loads take 20 cycles longer than past it: of every `near_pages`-th page 260, of others 320.
AnsweringDevice::Answer near_every(std::uint64_t near_pages) {
  return [near_pages](const program::Program&, const program::Walk& walk, std::size_t) {
    const std::uint32_t past = walk.path == program::Path::global_l2_only ? 0 : 20;
    return past + (walk.first_byte / page_bytes % near_pages == 0 ? 240U : 300U);
  };
}

// Of as many sides as there are, or by chance fewer lines than that. The interval reaches to the mean of all.
TEST(Penalty, IsThatOfNearLinesWhereOthersMayBeFar) {
  for (const std::uint64_t near_pages : {2U, 4U, 16U}) {
    const Estimate e = penalty_where(near_every(near_pages), before_an_l2());
    ASSERT_EQ(e.status, Status::measured) << e.note;
    EXPECT_DOUBLE_EQ(*e.value, 220);
    EXPECT_LE(e.interval->low, 220);
    EXPECT_GE(e.interval->high, 280 - 60.0 / static_cast<double>(near_pages));
  }
}

TEST(Penalty, IsABoundWhereAllOfTheLinesMayBeFar) {
  const Estimate e = penalty_where(near_every(1000), before_an_l2());
  EXPECT_EQ(e.status, Status::upper_bound);
  EXPECT_GE(*e.value, 277);
}

TEST(Penalty, IsABoundWhereNobodyKnowsSidesOfTheL2) {
  const auto all_miss = [](const auto&, const auto&, std::size_t) { return 240U; };
  Findings findings = with_l1();
  findings.memory("l2").attributes["latency"] = evidence::inconclusive("cycles", "levels", "");
  EXPECT_EQ(penalty_where(all_miss, findings).status, Status::upper_bound);
  findings.memory("l2").structure["l2_sides"].status = Status::inconclusive;
  EXPECT_EQ(penalty_where(all_miss, findings).status, Status::upper_bound);
  findings.memory("l2").structure["l2_sides"].status = Status::measured;
  EXPECT_EQ(penalty_where(all_miss, findings).status, Status::measured);
}

TEST(Discover, SaysWhoAssembledTheKernels) {
  AnsweringDevice device([](const auto&, const auto&, std::size_t) { return 40U; });
  device.change_info().kernels = "ptx";
  const auto topology = discover(device, {});
  ASSERT_TRUE(topology) << topology.error().message;
  EXPECT_EQ(topology->provenance.kernels, "ptx");
}

TEST(Penalty, IsOpenWhereAnotherProgramFillsTheL2) {
  Findings findings = with_l1();
  findings.others_fill_l2 = true;
  EXPECT_EQ(penalty_where([](const auto&, const auto&, std::size_t) { return 240U; }, findings).status,
            Status::inconclusive);
}

Findings beside_another_program() {
  Findings findings = with_l1();
  findings.others_fill_l2 = true;
  evidence::CacheFacts& l2 = findings.caches["l2"];
  l2.present = true;
  l2.levels = evidence::levels_of({{240, 1000}}, {{500, 1000}});
  return findings;
}

// Loads past the L1 say whether the L2 still has what was just brought into it.
TEST(Penalty, IsToldBesideAnotherProgramWhereTheL2KeepsWhatWasJustBroughtIn) {
  const auto one_in = [](int lost) {
    return [lost, look = 0](const auto&, const auto&, std::size_t) mutable {
      return lost != 0 && ++look % lost == 0 ? 500U : 240U;
    };
  };
  const Estimate e = penalty_where(one_in(10), beside_another_program());
  ASSERT_EQ(e.status, Status::measured);
  EXPECT_DOUBLE_EQ(*e.value, 200);
  EXPECT_EQ(penalty_where(one_in(2), beside_another_program()).status, Status::inconclusive);
}

// More than any L1 holds is walked: the largest keeps less than a tenth of its lines then, whatever it goes by.
TEST(Penalty, IsToldOfACacheWhoseSizeIsNot) {
  Findings findings = with_l1();
  findings.caches["l1"].capacity_bytes = 0;
  std::uint64_t walked = 0;
  const Estimate e = penalty_where(
      [&](const program::Program& p, const auto&, std::size_t) {
        walked = std::get<program::Walk>(p.phases.front()).footprint_bytes;
        return 240U;
      },
      findings);
  ASSERT_EQ(e.status, Status::measured);
  EXPECT_DOUBLE_EQ(*e.value, 200);
  EXPECT_GE(walked, std::uint64_t{3} * (256 << 10));
}

double penalty_before_a_cache(const evidence::Histogram& hits, const evidence::Histogram& next) {
  Findings findings;
  for (const std::string_view id : {"l2", "device_memory"}) {
    evidence::CacheFacts& cache = findings.caches[std::string(id)];
    cache.present = true;
    cache.overhead_cycles = 10;
    Estimate& latency = findings.memory(id).attributes["latency"];
    latency = evidence::measured(id == "l2" ? 138 : 262, "cycles", "line_quartiles", 1000);
    latency.interval = Interval{*latency.value - 0.5, *latency.value + 0.5};
  }
  evidence::CacheFacts& l2 = *findings.cache("l2");
  l2.levels = evidence::levels_of(hits, {{275, 1000}});
  l2.next_loads = next;
  l2.next_level = evidence::whole_mode(next);
  AnsweringDevice device([](const auto&, const auto&, std::size_t) { return 150U; });
  Session session(device, {});
  EXPECT_TRUE(measure_l2_penalty(session, findings).has_value());
  return findings.memory("l2").attributes["miss_penalty"].value.value_or(0);
}

// Its latency is told by lines' lower quartiles, below what single loads take on average where they jitter.
TEST(Penalty, OfTheL2IsThatOfSingleLoadsWhereACacheLiesBehindIt) {
  EXPECT_DOUBLE_EQ(penalty_before_a_cache({{147, 300}, {150, 400}, {153, 300}}, {{172, 30}, {175, 40}, {178, 30}}), 25);
}

// Known hits of the L2 or what lies behind it, and loads that another program made wait.
TEST(Penalty, OfTheL2IsThatOfItsOwnHitsWhereTheNextLevelIsAmongThem) {
  const evidence::Histogram next{{172, 30}, {175, 40}, {178, 30}};
  EXPECT_DOUBLE_EQ(
      penalty_before_a_cache({{147, 300}, {150, 400}, {153, 300}, {172, 150}, {175, 200}, {178, 150}}, next), 25);
  EXPECT_DOUBLE_EQ(penalty_before_a_cache({{147, 300}, {150, 400}, {153, 300}},
                                          {{172, 300}, {175, 400}, {178, 300}, {220, 200}, {225, 200}, {230, 100}}),
                   25);
}

}  // namespace
}  // namespace gputopo::experiments
