// What near lines take where it isn't known whether others lie on another side.
#include "evidence/lines/near_and_far.hpp"

#include <gtest/gtest.h>

#include "evidence/looks/latency.hpp"

namespace gputopo::evidence {
namespace {

std::vector<double> lines_on_sides(std::size_t near, std::size_t far, double far_cycles) {
  std::vector<double> lines(near, 200);
  lines.insert(lines.end(), far, far_cycles);
  return lines;
}

Estimate near_of(const std::vector<double>& lines, double less_cycles = 0) {
  return of_near_lines(lines, less_cycles, mean_estimate(lines, "cycles", "lines"));
}

TEST(NearLines, AreTheNearestOnesOfTwoToFourSides) {
  for (const std::size_t near : {16U, 32U}) {
    const Estimate e = near_of(lines_on_sides(near, 64 - near, 300));
    ASSERT_EQ(e.status, Status::measured);
    EXPECT_DOUBLE_EQ(*e.value, 200);
    EXPECT_LE(e.interval->low, 200);
    EXPECT_GE(e.interval->high, 300 - 100.0 * static_cast<double>(near) / 64);
    EXPECT_FALSE(e.note.empty());
  }
}

// As far apart as sides are at least they would be further from their mean; what a hit takes is a part of that.
TEST(NearLines, AreAllWhereNoneIsALevelAway) {
  const std::vector<double> close = lines_on_sides(32, 32, 204);
  EXPECT_DOUBLE_EQ(*near_of(close).value, 202);
  EXPECT_LE(near_of(close).interval->low, 200);
  const std::vector<double> apart = lines_on_sides(32, 32, 212);
  EXPECT_DOUBLE_EQ(*near_of(apart).value, 200);
  EXPECT_DOUBLE_EQ(*near_of(apart, 100).value, 206);
}

TEST(NearLines, LeaveABoundAsItIs) {
  Estimate bound = mean_estimate(lines_on_sides(32, 32, 300), "cycles", "lines");
  bound.status = Status::upper_bound;
  EXPECT_EQ(of_near_lines(lines_on_sides(32, 32, 300), 0, bound), bound);
}

}  // namespace
}  // namespace gputopo::evidence
