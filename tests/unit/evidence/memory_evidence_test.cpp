// What counts and looks of cold memory say: prefetch, rows, lines.
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "evidence/lines/line_spread.hpp"
#include "evidence/memory/cold_memory.hpp"
#include "evidence/memory/fetched_ahead.hpp"
#include "evidence/memory/kept_translation.hpp"
#include "evidence/memory/row_gain.hpp"

namespace gputopo::evidence {
namespace {

constexpr std::uint64_t cold_run_count = 24, cold_run_loads = 15 * cold_run_count;

RunHits runs_with(std::uint64_t hits, std::uint64_t second_hits) {
  return {cold_run_loads, hits, cold_run_count, second_hits};
}

StrideHits at_stride(std::uint64_t stride, const RunHits& forward, const RunHits& reverse, const RunHits& shuffled) {
  return {stride, forward, reverse, shuffled, 3 * cold_run_count, 0, {}};
}

StrideHits cold_at(std::uint64_t stride) {
  return at_stride(stride, runs_with(0, 0), runs_with(0, 0), runs_with(0, 0));
}

// Of 72 loads behind closed rows so many hit in either order; hardly any of lines that nothing fetched.
StrideHits behind_closed_rows(StrideHits hits, std::uint64_t forward, std::uint64_t reverse) {
  hits.after_closing = AfterClosing{72, forward, reverse, 1, 72};
  return hits;
}

TEST(FetchedAhead, IsNothingWhereNoOrderHits) {
  const std::vector<StrideHits> seen{cold_at(64), cold_at(128)};
  EXPECT_EQ(fetched_ahead(seen).value, "none");
}

TEST(FetchedAhead, LeavesOutWhatHitsInAnyOrder) {
  const RunHits half = runs_with(cold_run_loads / 2, cold_run_count / 2);
  const std::vector<StrideHits> seen{at_stride(32, half, half, half), cold_at(64)};
  EXPECT_EQ(fetched_ahead(seen).value, "none");
  EXPECT_NE(fetched_ahead(seen).note.find("one fetch"), std::string::npos);
  EXPECT_EQ(fetched_ahead(std::span(seen).first(1)).status, Status::inconclusive);
  EXPECT_EQ(fetched_ahead({}).status, Status::inconclusive);
}

TEST(FetchedAhead, IsTheNextLineWhereOneLoadIsEnoughAndAStrideWhereItIsnt) {
  const RunHits none = runs_with(0, 0);
  const std::vector<StrideHits> next{
      behind_closed_rows(
          at_stride(64, runs_with(cold_run_loads / 2, cold_run_count), none, runs_with(cold_run_loads / 3, 6)), 36, 0),
      cold_at(128)};
  EXPECT_EQ(fetched_ahead(next).value, "next_line");
  const std::vector<StrideHits> trained{
      behind_closed_rows(at_stride(64, runs_with(200, 0), runs_with(200, 0), none), 40, 40)};
  EXPECT_EQ(fetched_ahead(trained).value, "stride");
  // Two loads of one line, and a stride that is followed: the second load hits for the line's sake.
  const RunHits both = runs_with(300, cold_run_count);
  const std::vector<StrideHits> of_a_line{behind_closed_rows(at_stride(32, both, both, runs_with(180, 0)), 60, 60),
                                          trained.front()};
  EXPECT_EQ(fetched_ahead(of_a_line).value, "stride");
}

// What is fast in order only while a row is open wasn't fetched.
TEST(FetchedAhead, IsNoOpenRow) {
  const StrideHits fast = at_stride(64, runs_with(200, 20), runs_with(200, 20), runs_with(20, 2));
  const auto said = [&](const AfterClosing& after) {
    StrideHits hits = fast;
    hits.after_closing = after;
    return fetched_ahead(std::vector{hits, cold_at(128)});
  };
  EXPECT_EQ(said({72, 2, 1, 1, 72}).value, "none");
  EXPECT_NE(said({72, 2, 1, 1, 72}).note.find("row is open"), std::string::npos);
  EXPECT_EQ(said({72, 40, 40, 1, 72}).value, "stride");
  EXPECT_EQ(said({72, 40, 40, 36, 72}).status, Status::inconclusive) << "rows weren't closed";
  EXPECT_EQ(said({72, 2, 1, 1, 10}).status, Status::inconclusive) << "what was fetched may have been pushed out";
  EXPECT_EQ(said({72, 36, 36, 1, 72}).value, "stride");
  EXPECT_EQ(fetched_ahead(std::vector{fast, cold_at(128)}).status, Status::inconclusive) << "nobody looked";
  EXPECT_EQ(fetched_ahead(std::vector{behind_closed_rows(fast, 0, 0)}).status, Status::inconclusive);
}

TEST(FetchedAhead, IsNothingWhereFewLoadsHitByChance) {
  const std::vector<StrideHits> seen{at_stride(64, runs_with(14, 1), runs_with(4, 0), runs_with(6, 0))};
  EXPECT_EQ(fetched_ahead(seen).value, "none");
}

// Two looks at each of so many lines, with a load between that nobody timed.
ColdMemory::Pairs two_looks_at(std::size_t lines, std::uint32_t first, std::uint32_t second) {
  std::vector<program::PhaseTrace> looks(3 * lines);
  for (std::size_t i = 0; i < lines; ++i) looks[3 * i].latencies = {first}, looks[3 * i + 2].latencies = {second};
  return ColdMemory::pairs_of(looks);
}

TEST(ColdMemory, IsMemorysOwnOnlyWhereTranslationsWereSeenToStay) {
  const auto why = [](std::size_t lines, std::uint32_t first, std::uint32_t second) {
    return why_untranslated(ColdMemory::are_alike(two_looks_at(lines, first, second)));
  };
  EXPECT_FALSE(why(32, 300, 300));
  ASSERT_TRUE(why(32, 390, 300));
  EXPECT_NE(why(32, 390, 300)->find("take"), std::string_view::npos);
  ASSERT_TRUE(why(4, 300, 300)) << "few say nothing";
  EXPECT_NE(why(4, 300, 300)->find("can't be told"), std::string_view::npos);
}

// A cache that replaces at random loses a line in a hundred between two looks: of a line's lower quartile no part.
TEST(ColdMemory, IsMemorysOwnWhereHardlyAnyLookIsLate) {
  const auto with = [](std::size_t late) {
    ColdMemory::Pairs looks = two_looks_at(800 - late, 300, 300);
    for (const auto& pair : two_looks_at(late, 700, 300)) looks.push_back(pair);
    return ColdMemory::are_alike(looks);
  };
  EXPECT_EQ(with(0), true);
  EXPECT_EQ(with(30), true);
  EXPECT_EQ(with(80), false);
}

TEST(RowGain, BeginsWhereItsDistancesPointTo) {
  const std::vector<GainAt> seen{{256, 40, 2, 64}, {1024, 21, 3, 64}, {4096, 1, 2, 64}};
  const Estimate e = row_gain(seen, 600);
  EXPECT_EQ(e.status, Status::measured);
  EXPECT_NEAR(*e.value, 40 + 19 * 256.0 / 768, 1e-9) << "by what it falls from the one to the other";
  const std::vector<GainAt> in_one_row{{64, 40, 2, 64}, {1024, 21, 3, 64}};
  EXPECT_EQ(row_gain(in_one_row, 600).value, 40) << "none of these pairs lies in two rows";
  EXPECT_NE(e.note.find("256 B to 1 KiB"), std::string::npos) << e.note;
}

// Half of the pairs may lie in two rows, or none.
TEST(RowGain, IsALowerBoundWhereItShowsAtOneDistance) {
  const std::vector<GainAt> seen{{1024, 21, 3, 64}, {4096, 1, 2, 64}};
  const Estimate e = row_gain(seen, 600);
  EXPECT_EQ(e.status, Status::lower_bound);
  EXPECT_NEAR(*e.value, 21 - 2 * 1.96 * 3, 1e-9);
}

TEST(RowGain, IsNoneUpToWhatMayHaveGoneUnseen) {
  const std::vector<GainAt> quiet{{64, 1, 2, 64}, {1024, -3, 2, 64}};
  EXPECT_EQ(row_gain(quiet, 600).value, 0);
  EXPECT_NEAR(row_gain(quiet, 600).interval->high, 1 + 2.7 * 2, 1e-9);
  const std::vector<GainAt> noisy{{64, 20, 15, 64}};
  EXPECT_EQ(row_gain(noisy, 600).status, Status::upper_bound);
  EXPECT_NEAR(*row_gain(noisy, 600).value, 20 + 2.7 * 15, 1e-9);
  const std::vector<GainAt> far{{1024, 0, 1, 64}};
  EXPECT_EQ(row_gain(far, 600).status, Status::inconclusive) << "rows may be shorter";
  EXPECT_EQ(row_gain({}, 600).status, Status::inconclusive);
}

TEST(RowGain, OfADistanceIsTheMeanOfItsLines) {
  std::vector<double> gained(64, 50);
  EXPECT_EQ(gain_at(64, gained).cycles, 50);
  for (std::size_t i = 0; i < 32; ++i) gained[i] = 30;
  EXPECT_EQ(gain_at(64, gained).cycles, 40);
  EXPECT_NEAR(gain_at(64, gained).error_cycles, 10 / std::sqrt(63.0), 1e-6);
}

// Nine looks at each line: `kind` says what the line takes, `load` what this load takes more.
template <class Kind, class Load>
LineSpread spread_of(const Kind& kind, const Load& load) {
  LooksByLine looks(512);
  for (std::uint32_t line = 0; line < looks.size(); ++line)
    for (std::uint32_t look = 0; look < 9; ++look) looks[line].push_back(kind(line) + load(line * 9 + look));
  return line_spread(looks);
}

// No pattern over lines or looks.
std::uint32_t scattered(std::uint32_t i, std::uint32_t below) {
  return static_cast<std::uint32_t>((i * 2654435761ULL >> 16) * 40503ULL >> 8) % below;
}

TEST(LineSpread, TellsSlowLinesFromSlowLoads) {
  const auto jitter = [](std::uint32_t i) { return scattered(i, 7); };
  const auto alike = [](std::uint32_t) { return 600U; };
  const auto sides = [](std::uint32_t line) { return line % 2 == 0 ? 550U : 750U; };
  const auto waits = [](std::uint32_t i) { return scattered(i, 2) * 200U; };
  EXPECT_EQ(spread_of(alike, jitter).by_line.value, "alike");
  EXPECT_EQ(spread_of(sides, jitter).by_line.value, "two_kinds");
  EXPECT_EQ(spread_of([](std::uint32_t line) { return 600 + line % 40; }, jitter).by_line.value, "spread");
  // Half of all loads wait: lines that never happened to hit look slow, and no half of the looks agrees which.
  const LineSpread waiting = spread_of(alike, waits);
  EXPECT_NE(waiting.by_line.value, "two_kinds") << waiting.by_line.note;
  EXPECT_NEAR(*waiting.slow_load.value, 200, 1);
}

// Lines of two sides keep to theirs; of each side's rows those that are open are others in every second look.
TEST(LineSpread, IsLeftOpenWhereLinesChangeBetweenKindsOfOneSide) {
  for (const bool change : {false, true}) {
    LooksByLine looks;
    for (std::uint32_t line = 0; line < 240; ++line) {
      std::vector<std::uint32_t>& of_line = looks.emplace_back();
      for (std::uint32_t look = 0; look < 12; ++look)
        of_line.push_back(440 + 120 * (line % 2) + 60 * scattered(line + (change ? 1000 * (look % 2) : 0), 2));
    }
    const LineSpread spread = line_spread(looks);
    EXPECT_EQ(spread.by_line.status, change ? Status::inconclusive : Status::measured) << spread.by_line.note;
    EXPECT_EQ(spread.low.status, change ? Status::lower_bound : Status::measured);
  }
}

TEST(LineSpread, GivesQuantilesOverTheLines) {
  const LineSpread spread =
      spread_of([](std::uint32_t line) { return 500 + line % 100; }, [](std::uint32_t) { return 0U; });
  EXPECT_NEAR(*spread.low.value, 505, 1);
  EXPECT_NEAR(*spread.middle.value, 550, 2);
  EXPECT_NEAR(*spread.high.value, 595, 1);
  EXPECT_LE(spread.low.interval->low, *spread.low.value);
  EXPECT_GE(spread.high.interval->high, *spread.high.value);
}

// The slowest of lines that are alike are those that noise made slow: one latency lies in all three intervals.
TEST(LineSpread, IsAsUnsureAsItsLooks) {
  for (const std::uint32_t jitter : {1U, 7U, 31U}) {
    const LineSpread spread =
        spread_of([](std::uint32_t) { return 600U; }, [&](std::uint32_t i) { return scattered(i, jitter); });
    EXPECT_GE(spread.low.interval->high, *spread.middle.value) << jitter;
    EXPECT_LE(spread.high.interval->low, *spread.middle.value) << jitter;
  }
}

// Whole cycles of hardly any jitter: so few of the lines that are alike come out slower in a half of their looks that a
// single one of both halves is a correlation of 0.1 to 0.5.
TEST(LineSpread, CallsLinesAlikeOfWhichFewAreSlowerByChance) {
  std::mt19937 random(1);
  for (const double slower : {0.15, 0.2, 0.25, 0.3, 0.4})
    for (int draw = 0; draw < 100; ++draw) {
      std::bernoulli_distribution one_cycle(slower);
      const LineSpread spread =
          spread_of([](std::uint32_t) { return 600U; }, [&](std::uint32_t) { return one_cycle(random) ? 1U : 0U; });
      EXPECT_EQ(spread.by_line.value, "alike") << slower << ": " << spread.by_line.note;
    }
}

TEST(LineSpread, OfTooFewLooksIsLeftOpen) {
  LooksByLine looks(64, std::vector<std::uint32_t>{600, 601});
  EXPECT_EQ(line_spread(looks).by_line.status, Status::inconclusive);
  EXPECT_EQ(line_spread(looks).low.status, Status::inconclusive);
}

}  // namespace
}  // namespace gputopo::evidence
