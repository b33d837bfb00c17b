#include "evidence/inference/shift.hpp"

#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace gputopo::evidence {
namespace {

// Loads of lines at three distances, some of which a stranger slows.
Histogram loads(double cycles, std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Histogram all;
  for (std::size_t i = 0; i < count; ++i) {
    const double distance = 40.0 * static_cast<double>(random() % 3);
    const double stranger = random() % 20 == 0 ? 300 : 0;
    all = merged(all, Histogram{{static_cast<std::uint32_t>(cycles + distance + stranger), 1}});
  }
  return all;
}

TEST(Shift, HoldsTheTrueOneWhateverSpreadsBothKinds) {
  std::size_t missed = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Interval shift = shift_between(loads(560, 64, 2 * seed), loads(589, 64, 2 * seed + 1), 2);
    missed += shift.low > 29 || shift.high < 29 ? 1 : 0;
  }
  EXPECT_LE(missed, 20U);  // 9 of 200 by chance
}

TEST(Shift, NarrowsWithLoads) {
  const Interval few = shift_between(loads(560, 64, 1), loads(560, 64, 2), 4);
  const Interval many = shift_between(loads(560, 1024, 3), loads(560, 1024, 4), 4);
  EXPECT_LT(many.high - many.low, few.high - few.low);
  EXPECT_LE(many.low, 0);
  EXPECT_GE(many.high, 0);
}

TEST(Shift, IsOpenWhereThereIsNothingOrLittle) {
  const Histogram one{{500, 1}};
  for (const Interval& shift : {shift_between({}, one, 4), shift_between(one, {}, 4), shift_between(one, one, 4)}) {
    EXPECT_EQ(shift.low, -std::numeric_limits<double>::infinity());
    EXPECT_EQ(shift.high, std::numeric_limits<double>::infinity());
  }
}

}  // namespace
}  // namespace gputopo::evidence
