#include "report/cell.hpp"

#include <gtest/gtest.h>

#include "example.hpp"

namespace gputopo::report {
namespace {

struct ShownCell {
  std::string text;
  std::string note;
};

ShownCell shown_cell(const Estimate& e, CellStyle style = {}) {
  Footnotes notes(MarkStyle::plain);
  const Cell cell = estimate_cell(&e, "L2 size", style, notes);
  EXPECT_EQ(cell.mark.empty(), notes.notes().empty());
  return {cell.text, notes.notes().empty() ? "" : notes.notes().front()};
}

TEST(EstimateCell, AMeasuredPointStandsAlone) {
  EXPECT_EQ(shown_cell(estimate(38, "cycles")).text, "38 cycles");
  EXPECT_EQ(shown_cell(estimate(38, "cycles")).note, "");
  EXPECT_EQ(shown_cell(estimate(38, "cycles"), {.with_unit = false}).text, "38");
  EXPECT_EQ(shown_cell(estimate(128, "B"), {.with_unit = false}).text, "128 B") << "sizes keep their unit";
  EXPECT_EQ(shown_cell(estimate(128, "B"), {.with_unit = false, .with_bytes = false}).text, "128");
}

TEST(EstimateCell, EveryOtherStatusHasItsFootnote) {
  EXPECT_EQ(shown_cell(estimate(2048, "B", Status::api)).note, "told by the driver, not measured");
  EXPECT_EQ(shown_cell(estimate(2048, "B", Status::lower_bound)).text, ">=2 KiB");
  EXPECT_EQ(shown_cell(estimate(2048, "B", Status::lower_bound), {.unicode = true}).text, "≥2 KiB");
  EXPECT_EQ(shown_cell(estimate(2048, "B", Status::upper_bound)).text, "<=2 KiB");
  EXPECT_NE(shown_cell(estimate(2048, "B", Status::upper_bound)).note, "");
  EXPECT_EQ(shown_cell(estimate(2048, "B", Status::inconclusive)).text, "? 2 KiB");
  Estimate none;
  EXPECT_EQ(shown_cell(none).text, "?");
  none.status = Status::not_supported;
  EXPECT_EQ(shown_cell(none).text, "n/a");
  EXPECT_NE(shown_cell(none).note, "");
  EXPECT_EQ(shown_cell(estimate(1, "B", Status::truth)).note, "");
}

TEST(EstimateCell, WhatTheDriverToldMayHaveBeenMeasuredToo) {
  Estimate e = estimate(62914560, "B", Status::api);
  e.note = "measured 58.9 MiB, 2 % from it";
  EXPECT_EQ(shown_cell(e).note, "told by the driver; measured 58.9 MiB, 2 % from it");
}

TEST(EstimateCell, TheEstimatesOwnNoteIsShown) {
  Estimate e = estimate(38, "cycles");
  e.note = "the clock\x1b drifted";
  EXPECT_EQ(shown_cell(e).note, "the clock? drifted");
}

TEST(EstimateCell, IntervalsAreShownAsDistances) {
  Estimate e = estimate(309, "cycles");
  e.interval = Interval{304, 321};
  EXPECT_EQ(shown_cell(e).text, "309 cycles -5/+12");
  e.interval = Interval{304, 314};
  EXPECT_EQ(shown_cell(e).text, "309 cycles +/-5");
  EXPECT_EQ(shown_cell(e, {.unicode = true}).text, "309 cycles ±5");
  EXPECT_EQ(shown_cell(e, {.inline_interval = false}).text, "309 cycles");
  EXPECT_EQ(interval_words(e), "304 to 314 cycles");
  e.interval = Interval{309, 309.01};
  EXPECT_EQ(shown_cell(e).text, "309 cycles") << "a point as far as the rounding shows";
  EXPECT_EQ(interval_words(e), "");
  Estimate size = estimate(4096, "B");
  size.interval = Interval{2048, 1052672};
  EXPECT_EQ(shown_cell(size).text, "4 KiB -2 KiB/+1 MiB");
  EXPECT_EQ(interval_words(size), "2 KiB to 1.0 MiB (1052672 B)");
}

TEST(EstimateCell, AnIntervalThatIsNot95PercentSaysSo) {
  Estimate e = estimate(309, "cycles");
  e.interval = Interval{304, 314};
  e.interval_kind = "quartiles";
  EXPECT_EQ(shown_cell(e).note, "interval: quartiles");
  EXPECT_EQ(shown_cell(e, {.inline_interval = false}).note, "");
  EXPECT_EQ(interval_words(e), "304 to 314 cycles (quartiles)");
}

TEST(EstimateCell, ExactBytesMoveToTheFootnoteWhereThereIsNoRoom) {
  const ShownCell cell = shown_cell(estimate(150754820096.0, "B"), {.exact_sizes = false});
  EXPECT_EQ(cell.text, "140.4 GiB");
  EXPECT_EQ(cell.note, "L2 size: exactly 150754820096 B");
  EXPECT_EQ(shown_cell(estimate(246656, "B"), {.exact_sizes = false}).text, "240.875 KiB");
  EXPECT_EQ(shown_cell(estimate(246656, "B"), {.exact_sizes = false}).note, "") << "nothing was rounded";
}

TEST(EstimateCell, AMissingEstimateIsADash) {
  Footnotes notes(MarkStyle::plain);
  EXPECT_EQ(estimate_cell(nullptr, "x", {}, notes).text, "-");
  EXPECT_TRUE(notes.notes().empty());
}

}  // namespace
}  // namespace gputopo::report
