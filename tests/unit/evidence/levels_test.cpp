#include "evidence/inference/levels.hpp"

#include <functional>

#include <gtest/gtest.h>

#include "evidence/inference/hidden_level.hpp"

namespace gputopo::evidence {
namespace {

Histogram around(std::uint32_t cycles, std::uint64_t loads) {
  return {{cycles - 1, loads / 4}, {cycles, loads / 2}, {cycles + 1, loads / 4}};
}

// Of three levels each loses some to the next: which of them one knows as hits doesn't matter.
TEST(Levels, SaysThatLoadsBecameSlowerWhicheverTheyWereOf) {
  const Histogram before{{201, 500}, {266, 600}, {297, 300}}, after{{266, 1000}, {297, 400}};
  EXPECT_TRUE(are_slower(before, after));
  EXPECT_FALSE(are_slower(after, before));
  EXPECT_FALSE(are_slower(before, before));
}

TEST(Levels, PutTheThresholdIntoTheGap) {
  const Levels l = levels_of(around(40, 4000), around(280, 400));
  EXPECT_NEAR(l.threshold_cycles, 160, 2);
  EXPECT_TRUE(l.usable());
  EXPECT_GT(l.told_apart(), 0.99);
}

TEST(Levels, StrangersAreFalseMissesAndMoveNothing) {
  const Levels l = levels_of(merged(around(40, 3800), around(340, 200)), around(280, 400));
  EXPECT_NEAR(l.threshold_cycles, 160, 2);
  EXPECT_NEAR(l.false_miss, 0.05, 0.002);
  EXPECT_TRUE(l.usable());
}

TEST(Levels, ANextLevelATenthSlowerIsToldApart) {
  const Levels l = levels_of(around(111, 1000), around(122, 200));
  EXPECT_GT(l.threshold_cycles, 112);
  EXPECT_LT(l.threshold_cycles, 121);
  EXPECT_TRUE(l.usable());
}

TEST(Levels, OneLevelIsNoTwo) {
  EXPECT_FALSE(levels_of(around(200, 1000), around(200, 200)).usable());
}

TEST(Levels, AFewLoadsDecideNothing) {
  EXPECT_FALSE(levels_of(Histogram{{40, 2}}, Histogram{{280, 1}}).usable());
}

TEST(Levels, GradedThresholdLiesBelowTheNearestLevel) {
  // The weakest eviction still hits, the next finds a level at 130, the strongest one at 400.
  const Levels l = graded_levels(around(40, 1000), {around(40, 100), around(130, 100), around(400, 100)}, 0);
  EXPECT_GT(l.threshold_cycles, 42);
  EXPECT_LT(l.threshold_cycles, 129);
  EXPECT_LT(l.false_hit, 0.02);
}

// A sample of the nearest level alone draws the threshold below itself, however many loads of farther ones there are.
TEST(Levels, GradedThresholdIsNotDrawnUpByFartherLevels) {
  const Levels l = graded_levels(around(33, 1000), {around(36, 500), around(96, 5000), around(115, 5000)}, 0);
  EXPECT_GT(l.threshold_cycles, 33);
  EXPECT_LT(l.threshold_cycles, 37);
}

// Samples of footprints that nearly fit are hits but for a few, and their hits lie a little off the known ones.
TEST(Levels, GradedThresholdIsNotDrawnInBetweenTheHits) {
  const Histogram nearly_fits = merged(around(202, 4000), around(300, 100));
  const Levels l = graded_levels(around(200, 1000), {nearly_fits, around(300, 500)}, 0);
  EXPECT_GT(l.threshold_cycles, 204.5);
  EXPECT_LT(l.threshold_cycles, 298);
  EXPECT_LT(l.false_miss, 0.01);
}

// A footprint that fits has none that are slower.
TEST(Levels, GradedThresholdIgnoresSamplesThatHit) {
  const Levels l = graded_levels(around(200, 1000), {around(201, 500), around(300, 500)}, 0);
  EXPECT_GT(l.threshold_cycles, 204.5);
  EXPECT_LT(l.threshold_cycles, 298);
}

// Where few loads miss, thresholds among the hits tell as much apart by chance: the gap decides.
TEST(Levels, ThresholdLiesInTheGapWhereFewLoadsMiss) {
  const Histogram hits{{39, 1000}, {40, 2000}, {41, 1000}, {42, 30}};
  const Histogram few_misses{{39, 240}, {40, 480}, {41, 240}, {42, 20}, {90, 20}};  // two thirds as many 42s by chance
  const Levels l = levels_of(hits, few_misses);
  EXPECT_GT(l.threshold_cycles, 43);
  EXPECT_LT(l.threshold_cycles, 90);
}

// Half a level of the load itself: what timing adds isn't part of it.
TEST(Levels, GradedThresholdLeavesOutWhatTimingAdds) {
  const Levels l = graded_levels(around(240, 1000), {around(243, 500), around(260, 500)}, 200);
  EXPECT_GT(l.threshold_cycles, 240);
  EXPECT_LT(l.threshold_cycles, 243);
}

// Laps over lines that push each other out are no sample of hits.
TEST(Levels, TimedLapsWithMissesAreToldFromHits) {
  EXPECT_TRUE(hold_slower_loads(around(60, 120), merged(around(60, 1500), around(109, 500)), 34));
  EXPECT_FALSE(hold_slower_loads(around(60, 120), around(60, 1500), 34));
}

// A load in twenty is a stranger's; of lines that get lost more are slow, and no one share holds for every footprint.
TEST(Levels, KnownHitsThatAreSlowTooOftenMakeCountsUseless) {
  EXPECT_TRUE(levels_of(merged(around(40, 900), around(300, 100)), around(280, 400)).usable());
  EXPECT_FALSE(levels_of(merged(around(40, 700), around(300, 300)), around(280, 400)).usable());
}

// At a lower SM clock what lies behind the SM is fewer cycles away.
TEST(Levels, NothingIsToldWhereWhatIsBehindIsFaster) {
  const Histogram hits = around(225, 1000);
  EXPECT_TRUE(miss_as_fast(hits, {merged(around(209, 90), around(240, 100))}, 11));
  EXPECT_TRUE(miss_as_fast(hits, {around(200, 100), around(300, 100)}, 11));
  EXPECT_FALSE(miss_as_fast(hits, {around(225, 100), around(240, 100)}, 11));
}

// At a lower SM clock, too: one as far away as hits are shows by what else is counted among them.
TEST(Levels, OneAmongTheHitsIsToldFromStrangersAndWhatIsCountedByMistake) {
  const Histogram hits = around(186, 1000), behind = around(240, 1000);
  const auto hidden_in = [&](const Histogram& loads) {
    return hide_a_level(graded_levels(hits, {hits, loads, behind}, 23), {hits, loads, behind}, 0.25);
  };
  EXPECT_TRUE(hidden_in(merged(around(186, 500), around(184, 500))));
  EXPECT_TRUE(hidden_in(merged(around(186, 300), merged(around(188, 400), around(240, 300)))));
  EXPECT_FALSE(hidden_in(merged(around(186, 500), around(240, 500))));
  EXPECT_FALSE(hidden_in(merged(around(186, 850), around(189, 150))));
  EXPECT_FALSE(hidden_in(merged(around(184, 12), around(186, 4))));
}

// Hits of 60 to 70 and a level of 64 to 74: a threshold above the hits finds the slowest of that level alone.
TEST(Levels, AThresholdAboveMostOfANearLevelHidesIt) {
  Histogram hits, near;
  for (std::uint32_t i = 0; i <= 10; ++i) {
    hits.push_back({60 + i, 1000});
    near.push_back({64 + i, 300});
  }
  const Levels hidden = graded_levels(hits, {near, around(200, 400)}, 0);
  EXPECT_NEAR(hidden_share(hidden), 7.0 / 11, 0.05);
  const Levels seen = graded_levels(hits, {merged(hits, around(90, 2000)), around(200, 400)}, 0);
  EXPECT_EQ(hidden_share(seen), 0);
}

// Of 700 loads of the level behind 35 look like hits, beside 320 hits: chance makes as much of these. A hundred times
// as many tell it.
TEST(Levels, MayHideAsMuchAsAFewLoadsDoNotTell) {
  constexpr double hidden = 0.05;
  const auto mixture = [](std::uint64_t times) {
    Levels levels;
    levels.hit = {{98, 300}, {99, 450}, {100, 500}, {101, 350}, {102, 150}};
    levels.next = {{98, 60 * times},  {99, 90 * times},  {100, 100 * times}, {101, 70 * times},
                   {102, 30 * times}, {103, 35 * times}, {106, 350 * times}, {107, 350 * times}};
    levels.threshold_cycles = 104;
    for (auto& bin : levels.hit) bin.count *= times;
    return levels;
  };
  EXPECT_EQ(hidden_share(mixture(1)), 0);
  EXPECT_GT(most_hidden_share(mixture(1)), 2 * hidden);
  EXPECT_LT(most_hidden_share(mixture(1)), 0.3);
  EXPECT_GT(hidden_share(mixture(100)), 0.8 * hidden);
  EXPECT_LT(most_hidden_share(mixture(100)), 1.5 * hidden);
}

// Hits of 52 to 58 and a level of 57 to 63, of which less is seen than is hidden for sure; one that begins at 62 hides
// nothing, nor do strangers.
TEST(Levels, MayHideALevelOfWhichSomeIsSeenRightAboveThem) {
  const auto mixture = [](std::uint32_t first, std::uint64_t loads) {
    Levels levels;
    for (std::uint32_t i = 0; i < 7; ++i) {
      levels.hit.push_back({52 + i, 1700});
      levels.next = merged(levels.next, Histogram{{52 + i, 450}, {first + i, loads}});
    }
    levels.next = merged(levels.next, around(250, 400));
    levels.threshold_cycles = 58.75;
    return levels;
  };
  EXPECT_GT(most_hidden_where_seen(mixture(57, 130), 0), 0.28);
  EXPECT_EQ(most_hidden_where_seen(mixture(62, 130), 0), 0);
  EXPECT_EQ(most_hidden_where_seen(mixture(57, 4), 0), 0);
}

// Hits of 97 to 103. Looks at lines of which a level of 103 to 109 answered 140, or one that lies far off.
TEST(Levels, HideNoMoreLoadsThanLieRightAboveThem) {
  Histogram hits, hidden;
  for (std::uint32_t cycles = 97; cycles <= 103; ++cycles)
    hits.push_back({cycles, 300}), hidden.push_back({cycles, 90});
  Levels levels = levels_of(hits, around(125, 1000));
  levels.threshold_cycles = 103.75;
  EXPECT_EQ(most_hidden_loads(levels, merged(hidden, around(125, 900))), 0);
  Histogram overlapping = merged(hidden, around(125, 900));
  for (std::uint32_t cycles = 103; cycles <= 109; ++cycles) overlapping = merged(overlapping, Histogram{{cycles, 20}});
  const double most = most_hidden_loads(levels, overlapping);
  EXPECT_GE(most, 20);
  EXPECT_LE(most, 120);
  EXPECT_EQ(most_hidden_loads(levels, merged(hidden, Histogram{{104, 2}, {108, 2}})), 0) << "strangers";
  // A level that begins a width of the hits above them, with nothing between, whichever side the threshold is near to.
  Histogram apart = hidden;
  for (std::uint32_t cycles = 112; cycles <= 118; ++cycles) apart.push_back({cycles, 90});
  for (const double threshold : {104.5, 108.0, 111.5}) {
    levels.threshold_cycles = threshold;
    EXPECT_EQ(most_hidden_loads(levels, apart), 0) << threshold;
  }
}

// Hits of 60 cycles, a level of 400 behind them, and further on 500 or 640: those may lie near and far, the level
// behind as well, but its near lines would take 260 and have been seen.
TEST(Levels, HaveNoNearLinesBehindThemThatWouldHaveBeenSeen) {
  const Histogram hits = around(60, 500), further = merged(around(500, 300), around(640, 300));
  Levels levels = levels_of(hits, around(400, 500));
  levels.threshold_cycles = 300;
  EXPECT_EQ(cycles_behind_near_lines(levels, further), 0);
  EXPECT_GT(cycles_behind_near_lines(levels, merged(around(500, 300), around(900, 300))), 400) << "as fast as hits";
}

// One level from 96 to 104 cycles, and a few or many loads beyond.
TEST(Levels, TellAnotherProgramFromStrangers) {
  const auto with_slow = [](std::uint64_t slow) {
    return Histogram{{96, 100}, {98, 200}, {100, 400}, {102, 200}, {104, 100}, {150, slow}};
  };
  EXPECT_FALSE(hold_more_than_strangers({}));
  EXPECT_FALSE(hold_more_than_strangers(with_slow(0)));
  EXPECT_FALSE(hold_more_than_strangers(with_slow(50)));
  EXPECT_TRUE(hold_more_than_strangers(with_slow(150)));
  EXPECT_TRUE(hold_more_than_strangers(with_slow(600)));
}

// Hits of 245 cycles with a clock of 37, nearly all of which another program pushes out before they are repeated.
TEST(Levels, TellAFewRealHitsFromWhatTheLevelBehindServed) {
  const Histogram lost{{280, 1}, {281, 300}, {282, 200}, {337, 5000}, {338, 5000}};
  EXPECT_TRUE(hold_faster_kind(lost, 337, 37));
  EXPECT_FALSE(hold_faster_kind(lost, 281, 37));
  EXPECT_FALSE(hold_faster_kind({{337, 5000}, {338, 5000}}, 337, 37));
  // Jitter alone, of a cache as near as any.
  EXPECT_FALSE(hold_faster_kind({{23, 10}, {26, 100}, {30, 1000}, {34, 100}, {37, 10}}, 30, 5));
}

// Hits up to 131 cycles and misses of one place from 317 to 355: those of a nearer one may take 38 less, and hits of
// another SM a few cycles more than these. Misses that are spread over as much as lies between leave no room.
TEST(Levels, LeaveHitsHalfOfWhatNearerMissesMayLeave) {
  const Histogram hits{{130, 10}, {131, 390}};
  Histogram misses, spread;
  for (std::uint32_t i = 0; i <= 38; ++i) misses.push_back({317 + i, 10});
  for (std::uint32_t i = 0; i <= 38; ++i) spread.push_back({140 + i, 10});
  const Levels far = close_to_hits(levels_of(hits, misses), 30, true);
  EXPECT_GT(far.threshold_cycles, 190);
  EXPECT_LT(far.threshold_cycles, 225);
  const Levels tight = close_to_hits(levels_of(hits, misses), 30);
  EXPECT_LT(tight.threshold_cycles, 136);
  // What lies between may be hits from farther away than those.
  EXPECT_EQ(tight.surely_missed_cycles, levels_of(hits, misses).threshold_cycles);
  EXPECT_EQ(levels_of(hits, misses).surely_missed_cycles, 0);
  EXPECT_EQ(close_to_hits(levels_of(hits, spread), 30, true).threshold_cycles,
            close_to_hits(levels_of(hits, spread), 30).threshold_cycles);
}

// Of a hundred lines half lie 50 cycles farther away; `second` is what the next load of one takes.
std::vector<LoadPair> pairs_of(const std::function<std::uint32_t(std::uint32_t first, std::uint32_t line)>& second) {
  std::vector<LoadPair> pairs;
  for (std::uint32_t line = 0; line < 100; ++line) {
    const std::uint32_t first = (line % 2 == 0 ? 130 : 180) + line / 2 % 4;
    pairs.push_back({first, second(first, line)});
  }
  return pairs;
}

TEST(Levels, RepeatedLoadsThatFollowTheirLinesPlacesAreTheSameKind) {
  EXPECT_TRUE(are_alike_by_line(pairs_of([](auto first, auto line) { return first - 1 + line % 3; }), 30));
}

// A nearer cache of as many cycles as what lies behind has on average, or as its near lines have.
TEST(Levels, RepeatedLoadsOfOnePlaceAreNot) {
  for (const std::uint32_t own : {130U, 155U, 180U})
    EXPECT_FALSE(are_alike_by_line(pairs_of([&](auto, auto line) { return own + line % 3; }), 30)) << own;
}

TEST(Levels, RepeatedLoadsOfWhichSomeAreSoonerAreNot) {
  EXPECT_FALSE(are_alike_by_line(pairs_of([](auto first, auto line) { return line % 5 == 0 ? 120 : first; }), 30));
  EXPECT_FALSE(are_alike_by_line(pairs_of([](auto first, auto) { return first - 8; }), 30));
}

// Where lines don't differ by place nothing shows where repeated ones were.
TEST(Levels, RepeatedLoadsOfLinesThatAreAllAsFarSayNothingByPlace) {
  std::vector<LoadPair> pairs(100, LoadPair{180, 180});
  EXPECT_FALSE(are_alike_by_line(pairs, 30));
}

// Another program makes every fifth load wait.
std::vector<LoadPair> pairs_beside_another_program(const std::function<std::uint32_t(std::uint32_t line)>& second) {
  std::vector<LoadPair> pairs;
  for (std::uint32_t line = 0; line < 3000; ++line)
    pairs.push_back({line % 5 == 0 ? 230U : 180U, line % 5 == 1 ? 230U : second(line)});
  return pairs;
}

TEST(Levels, RepeatedLoadsThatWaitAsOftenAsFirstOnesAreNoHitsOfACacheThatKeepsSome) {
  const auto pairs = pairs_beside_another_program([](auto) { return 180; });
  EXPECT_TRUE(show_no_hits(pairs, 30, 0.5));
  // Of one that keeps hardly any no more would be sooner than chance makes.
  EXPECT_FALSE(show_no_hits(pairs, 30, 0.02));
}

TEST(Levels, RepeatedLoadsOfWhichMoreAreSoonerThanLaterMayBeHits) {
  EXPECT_FALSE(
      show_no_hits(pairs_beside_another_program([](auto line) { return line % 7 == 0 ? 165 : 180; }), 30, 0.5));
}

}  // namespace
}  // namespace gputopo::evidence
