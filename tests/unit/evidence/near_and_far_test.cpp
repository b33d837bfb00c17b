// What near lines take where it isn't known whether others lie on another side.
#include "evidence/lines/near_and_far.hpp"

#include <gtest/gtest.h>

#include "evidence/inference/estimates.hpp"

namespace gputopo::evidence {
namespace {

std::vector<double> lines_on_sides(std::size_t near, std::size_t far, double far_cycles) {
  std::vector<double> lines(far, far_cycles);
  lines.insert(lines.end(), near, 200);
  return lines;
}

// Of four sides a quarter of the lines is near, or by chance half of that.
TEST(NearLines, EndBeforeWhatASideALevelAwayTakes) {
  for (const std::size_t near : {8U, 16U, 32U, 64U}) {
    EXPECT_GE(end_of_near_lines(lines_on_sides(near, 64 - near, 210)), 200);
    EXPECT_LT(end_of_near_lines(lines_on_sides(near, 64 - near, 210)), 210);
  }
  EXPECT_EQ(end_of_near_lines({}), 0);
}

Estimate with_interval(double value, double off) {
  Estimate e = measured(value, "cycles", "lines", 64);
  e.interval = Interval{value - off, value + off};
  return e;
}

TEST(NearLines, HaveAnIntervalThatHoldsUnderEitherReading) {
  const Estimate e = of_near_lines(with_interval(200, 1), with_interval(250, 2));
  EXPECT_EQ(e.status, Status::measured);
  EXPECT_DOUBLE_EQ(*e.value, 200);
  EXPECT_DOUBLE_EQ(e.interval->low, 199);
  EXPECT_DOUBLE_EQ(e.interval->high, 252);
  EXPECT_FALSE(e.note.empty());
}

TEST(NearLines, AreAsOpenAsTheyWere) {
  const Estimate open = inconclusive("cycles", "lines", "too few");
  EXPECT_EQ(of_near_lines(open, with_interval(250, 2)), open);
}

}  // namespace
}  // namespace gputopo::evidence
