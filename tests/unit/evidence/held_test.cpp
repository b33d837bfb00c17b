// What is said of a size by what fits and by what is held of more.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "change_point/random.hpp"
#include "evidence/held/agreed_size.hpp"
#include "evidence/held/held_counts.hpp"
#include "evidence/held/held_looks.hpp"
#include "evidence/inference/estimates.hpp"

namespace gputopo::evidence {
namespace {

constexpr double line = 64;

Estimate fitting(double bytes, Interval interval) {
  Estimate e = measured(bytes, "B", "misses", 1000);
  e.interval = interval;
  return e;
}

Held sampled(double bytes, double off) {
  Held held;
  held.bytes = bytes;
  held.interval = {bytes - off, bytes + off};
  held.walked_bytes = 3 * bytes;
  held.steady = held.is_sample = true;
  held.samples = 5000;
  return held;
}

TEST(AgreedSize, IsWhatFitsWhereAsMuchIsHeldOfMore) {
  const Estimate size = agreed_size(fitting(65536, {65536, 65600}), sampled(65700, 400), line);
  EXPECT_EQ(size.status, Status::measured);
  EXPECT_EQ(size.value, 65536);
}

TEST(AgreedSize, IsTheRoundestOfWhatASampleLeavesWhereMoreIsHeldThanFits) {
  const Estimate size = agreed_size(fitting(60000, {59000, 60500}), sampled(65400, 900), line);
  EXPECT_EQ(size.status, Status::measured);
  EXPECT_EQ(size.value, 65536);
  EXPECT_THAT(size.note, testing::HasSubstr("begins to miss"));
}

// What fits may lie in a count's interval and yet be less likely than what the count says.
TEST(AgreedSize, IsOfWhatACountFindsLikely) {
  Held held = sampled(65500, 1200);
  held.likely = Interval{64800, 66200};
  const Estimate size = agreed_size(fitting(64512, {64512, 64512}), held, line);
  EXPECT_EQ(size.value, 65536);
  EXPECT_EQ(size.interval, (Interval{64300, 66700}));
  held.line_bytes = line;
  EXPECT_EQ(agreed_size(fitting(64512, {64512, 64512}), held, line).interval, (Interval{64300, 1042 * line}));
}

// Overfull sets lie together, and looks may have missed them all.
TEST(AgreedSize, IsABoundWhereFewerAreHeldThanSeemToFit) {
  const Estimate size = agreed_size(fitting(70000, {69000, 71000}), sampled(65500, 600), line);
  EXPECT_EQ(size.status, Status::lower_bound);
  EXPECT_EQ(size.value, 64900);
}

// Some lines' hits look like misses by where they lie: a count leaves those out, and no vote settles that.
TEST(AgreedSize, IsWhatFitsWhereACountLeftSomeOfThatOut) {
  const Estimate size = agreed_size(fitting(4608, {4576, 4608}), sampled(4528, 48), line);
  EXPECT_EQ(size.status, Status::measured);
  EXPECT_EQ(size.value, 4608);
}

// A tree of bits that looks push lines out of: what wasn't found of what fits is no bound above.
TEST(AgreedSize, IsAtLeastWhatFitsWhereHardlyHalfOfItWasFoundOfMore) {
  Held held = sampled(7298, 8190);
  held.interval.low = 0;
  held.walked_bytes = 60416;
  held.steady = held.is_sample = false;
  EXPECT_EQ(agreed_size(fitting(15104, {15104, 15104}), held, line).status, Status::lower_bound);
}

// Lines that a hash deals out go round in runs of as many as there are sets, each begun anywhere: in a cache of one way
// those after what fits may all fall among its sets, and less than twice as many come to no others.
TEST(AgreedSize, IsAtLeastWhatFitsWhereNoMoreIsHeldOfLessThanTwiceThat) {
  Held held = sampled(46080, 600);
  held.steady = held.is_sample = false;
  held.walked_bytes = 65408;
  EXPECT_EQ(agreed_size(fitting(45952, {45824, 45952}), held, line).status, Status::lower_bound);
  held.walked_bytes = 92160;
  EXPECT_EQ(agreed_size(fitting(45952, {45824, 45952}), held, line).status, Status::measured);
}

TEST(AgreedSize, IsOpenWhereSomethingElseMakesTheMostOfThemSlow) {
  EXPECT_EQ(agreed_size(fitting(70000, {69000, 71000}), sampled(40000, 600), line).status, Status::inconclusive);
}

const Estimate open = inconclusive("B", "misses", "misses rise, but not as those of a full cache do");

TEST(AgreedSize, IsTheRoundestOfWhatASampleLeavesWhereNothingTellsWhatFits) {
  const Estimate size = agreed_size(open, sampled(32700, 500), line);
  EXPECT_EQ(size.status, Status::measured);
  EXPECT_EQ(size.value, 32768);
  EXPECT_EQ(size.method, open.method);
}

TEST(AgreedSize, IsAtLeastWhatIsHeldWhereNothingTellsWhatFits) {
  const Estimate size = agreed_size(open, sampled(30000, 1000), line);
  EXPECT_EQ(size.status, Status::lower_bound);
  EXPECT_EQ(size.value, 29000);
  EXPECT_EQ(size.method, open.method);
  EXPECT_EQ(agreed_size(open, std::nullopt, line).status, Status::inconclusive);
}

TEST(AgreedSize, IsToTheLineOfALessExactCountOfFewLines) {
  Held held = sampled(22 * line, 0);
  EXPECT_EQ(agreed_size(fitting(21 * line, {21 * line, 21 * line}), held, line).value, 22 * line);
  held.interval = {21 * line, 22 * line};
  EXPECT_EQ(agreed_size(fitting(21 * line, {21 * line, 21 * line}), held, line).status, Status::measured);
  held.interval = {20 * line, 23 * line};
  EXPECT_EQ(agreed_size(fitting(21 * line, {21 * line, 21 * line}), held, line).status, Status::lower_bound);
}

TEST(AgreedSize, IsNotAsSureAsWhereItBeginsToMissWhereMoreMayBeHeld) {
  Estimate fits = fitting(64 * line, {64 * line, 64 * line});
  fits.confidence = 1;
  Held held = sampled(65 * line, 0);
  held.interval = {14 * line, 67 * line};
  held.is_sample = false;
  const Estimate size = agreed_size(fits, held, line);
  EXPECT_EQ(size.interval, (Interval{64 * line, 67 * line}));
  EXPECT_FALSE(size.confidence);
}

// 67 lines of 128 and of 256 were found each time, and one known miss in 26 looked like a hit: if it was one there are
// 67, which no second count makes less likely.
TEST(HeldCounts, MayAllHoldWhatLooksLikeHitsInEach) {
  CacheFacts cache;
  cache.levels.false_hit = 1 / 26.0;
  cache.levels.sure_misses = 240;
  std::vector<held::Counted> counts;
  for (const std::uint64_t lines : {128, 256}) {
    held::Plan plan;
    plan.capacity_lines = 64;
    plan.lines = lines;
    std::vector<std::vector<double>> hits(lines, std::vector<double>(plan.looks, 0));
    for (std::size_t i = lines - 67; i < lines; ++i) hits[i].assign(plan.looks, 1);
    counts.push_back(held::judge(hits, cache, plan));
    EXPECT_FALSE(counts.back().exact);
  }
  const held::Capacity full = held::when_full(counts);
  EXPECT_LT(full.lines, 66);
  EXPECT_EQ(std::floor(held::interval_of(full, 0, line).high / line), 67);
}

// Lines that are replaced at random are there at any look as likely as at another: of 2000 sizes none may be wrong.
TEST(HeldCounts, OfLinesReplacedAtRandomAreHardlyEverOff) {
  constexpr std::uint64_t capacity = 128, lines = 250;
  held::Plan plan;
  plan.capacity_lines = capacity;
  plan.lines = lines;
  plan.looks = 24;
  change_point::Random random(1);
  int off = 0;
  for (int size = 0; size < 2000; ++size) {
    std::vector<std::vector<double>> hits(lines);
    for (std::vector<double>& of_line : hits)
      for (std::uint32_t look = 0; look < plan.looks; ++look)
        of_line.push_back(random.uniform() < static_cast<double>(capacity) / lines ? 1 : 0);
    const held::Counted counted = held::judge(hits, CacheFacts{}, plan);
    EXPECT_FALSE(counted.exact);
    EXPECT_LT(counted.error, 0.06 * capacity);
    off += std::fabs(counted.near - capacity) > counted.error ? 1 : 0;
  }
  EXPECT_LE(off, 1);
}

// Hits take 211 to 213 cycles, misses any number from 176 on: of those under the threshold few are like hits.
TEST(HeldCounts, LeaveOutMissesThatAreShorterThanHits) {
  CacheFacts cache;
  for (std::uint32_t cycles = 211; cycles <= 213; ++cycles) cache.levels.hit.push_back({cycles, 400});
  cache.levels.hit.push_back({500, 100});  // strangers
  cache.levels.threshold_cycles = 217.5;
  constexpr std::uint32_t looks = 100;
  Histogram seen;
  for (std::uint32_t cycles = 176; cycles < 400; ++cycles) {
    const bool is_like_hits = cycles >= 211 && cycles <= 213;
    seen.push_back({cycles, is_like_hits ? 56 * looks / 3 : 25U});
  }
  held::Counted counted;
  counted.near = 56 + 0.25 * (217 - 176 + 1 - 3);
  held::take_off_short_misses(counted, cache, seen, looks);
  EXPECT_NEAR(counted.near, 56, 0.5);
  EXPECT_FALSE(counted.exact);
  EXPECT_GT(counted.error, 4);
  for (auto& look : seen)  // nothing but hits
    if (look.latency_cycles < 211 || look.latency_cycles > 213) look.count = 0;
  held::Counted hits;
  hits.near = 56;
  held::take_off_short_misses(hits, cache, seen, looks);
  EXPECT_EQ(hits.near, 56);
  EXPECT_EQ(hits.error, 0);
}

TEST(BoundByLines, EndsWhereALineDoes) {
  Estimate size = fitting(4110.2, {4000, 4200});
  bound_by_lines(size, 32, {});
  EXPECT_EQ(size.value, 4110.2);
  size.status = Status::lower_bound;
  bound_by_lines(size, 32, {});
  EXPECT_EQ(size.value, 4096);
}

TEST(BoundByLines, IsLowerByThoseThatHideAmongHitsOnceInTwentyTimes) {
  const auto with = [](double false_hit) {
    Estimate size = fitting(4096, {4000, 4200});
    size.status = Status::lower_bound;
    Levels levels;
    levels.false_hit = false_hit;
    bound_by_lines(size, 32, levels);
    return *size.value;
  };
  EXPECT_EQ(with(0.02), 4096);
  EXPECT_EQ(with(0.1), 4096 - 32);
  EXPECT_EQ(with(0.5), 4096 - 4 * 32);  // 0.5 to the fifth is less than one in twenty
}

TEST(BoundBelow, GoesByRatiosOfSizesAndByDifferencesOfTimes) {
  Estimate size = fitting(64000, {16000, 66000});
  bound_below(size, "");
  EXPECT_EQ(size.value, 4000);
  Estimate cycles = measured(300, "cycles", "timed", 9);
  cycles.interval = Interval{290, 310};
  bound_below(cycles, "");
  EXPECT_EQ(cycles.value, 280);
}

// How probable the one likeliest size of many was isn't how probable it is that no less fits.
TEST(BoundBelow, IsNotAsUnlikelyAsTheOneValueThatItCameFrom) {
  for (void (*bound)(Estimate&, std::string_view) : {bound_below, bound_above}) {
    Estimate size = fitting(64000, {63000, 66000});
    size.confidence = 0.06;
    bound(size, "");
    EXPECT_FALSE(size.confidence);
  }
  Estimate told = fitting(64000, {64000, 64000});
  told.interval.reset();
  told.status = Status::lower_bound;
  told.confidence = 0.9;  // a bound's own
  bound_below(told, "");
  EXPECT_EQ(told.confidence, 0.9);
}

// An H200's texture path once said a line more than the L1 that it is.
TEST(AgreeAsOneCache, TakesTheSurerSizeWhereTheOthersIntervalHoldsIt) {
  const auto size = [](double value, Interval interval, double confidence) {
    Estimate e = measured(value, "B", "misses", 1);
    e.interval = interval;
    e.confidence = confidence;
    return e;
  };
  const Estimate l1 = size(246784, {246784, 246912}, 0.81), texture = size(246912, {246784, 248320}, 0.24);
  for (const bool is_first : {true, false}) {
    Estimate a = is_first ? l1 : texture, b = is_first ? texture : l1;
    agree_as_one_cache(a, b);
    EXPECT_EQ(a.value, 246784);
    EXPECT_EQ(b.value, 246784);
    EXPECT_EQ((is_first ? b : a).confidence, 0.81);
    EXPECT_TRUE((is_first ? a : b).note.empty());
  }
  Estimate wider = size(246784, {246784, 250304}, 0), surer = l1;
  wider.confidence.reset();
  agree_as_one_cache(wider, surer);
  EXPECT_EQ(wider.interval, l1.interval);
  EXPECT_TRUE(surer.note.empty());
  Estimate far = size(131072, {131072, 131200}, 0.3), kept = l1;
  agree_as_one_cache(kept, far);
  EXPECT_EQ(far.value, 131072);
  Estimate bound = texture;
  bound.status = Status::lower_bound;
  agree_as_one_cache(kept, bound);
  EXPECT_EQ(bound.value, 246912);
}

TEST(AgreeAsOneCache, TakesTheSizeWhereOfTheOtherPathAsMuchFitsAndNoMoreIsKnown) {
  Estimate l1 = measured(246784, "B", "misses", 1), fits = l1, less = l1;
  l1.interval = Interval{246656, 248704};
  fits.status = less.status = Status::lower_bound;
  less.value = 200000;
  for (const bool is_first : {true, false}) {
    Estimate size = l1, bound = fits;
    agree_as_one_cache(is_first ? size : bound, is_first ? bound : size);
    EXPECT_EQ(bound.status, Status::measured);
    EXPECT_EQ(bound.value, 246784);
    EXPECT_FALSE(bound.note.empty());
    EXPECT_TRUE(size.note.empty());
  }
  // A path that less is known to fit of may have a part of it only.
  agree_as_one_cache(l1, less);
  EXPECT_EQ(less.status, Status::lower_bound);
  EXPECT_EQ(less.value, 200000);
}

// Of two lines together one look found one, one found both, and of two nothing is told, which may have been hits from
// nearby.
TEST(HeldLooks, MayHideLinesBehindTheCacheInFront) {
  EXPECT_EQ(held::hidden_in_front({1, 2, std::nullopt, std::nullopt}, 2), 0.25);
  EXPECT_EQ(held::hidden_in_front({2, 2, std::nullopt}, 2), 0);
  EXPECT_EQ(held::hidden_in_front({0, 0}, 2), 0);
  // All of these count as in front, alone or not.
  EXPECT_EQ(held::hidden_in_front({std::nullopt, std::nullopt}, 2), 0);
}

}  // namespace
}  // namespace gputopo::evidence
