// What is left of rates that were measured while others had the GPU in between.
#include "throughput/neighbours.hpp"

#include <gtest/gtest.h>

namespace gputopo::throughput {
namespace {

Finding found(double value, const char* unit) {
  Finding finding;
  finding.estimate.value = value;
  finding.estimate.interval = Interval{0.9 * value, 1.1 * value};
  finding.estimate.unit = unit;
  finding.estimate.status = Status::measured;
  return finding;
}

// The greatest run of several is greater than the rate on an idle GPU, too.
TEST(BesideANeighbour, ARateIsAtLeastThatOfTheMiddleRunAndATimeIsOpen) {
  Result result;
  result.findings = {found(8e12, "B/s"), found(300, "cycles")};
  bound_beside_neighbour(result);
  const Estimate &rate = result.findings[0].estimate, &time = result.findings[1].estimate;
  EXPECT_EQ(rate.status, Status::lower_bound);
  EXPECT_EQ(rate.value, 8e12);
  EXPECT_FALSE(rate.interval);
  EXPECT_EQ(time.status, Status::inconclusive);
  EXPECT_FALSE(time.value);
  EXPECT_EQ(result.notes.size(), 1U);
}

}  // namespace
}  // namespace gputopo::throughput
