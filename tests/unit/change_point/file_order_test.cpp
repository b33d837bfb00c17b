#include "change_point/file_order.hpp"

#include <cmath>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "change_point/random.hpp"

namespace gputopo::change_point {
namespace {

/// Whole cycles around what `level` says of the file's share that lies before a load, up to `jitter` off.
std::vector<double> loads_along(int count, double jitter, Random& random, const std::function<double(double)>& level) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i)
    values.push_back(std::round(level(i / static_cast<double>(count)) + jitter * (2 * random.uniform() - 1)));
  return values;
}

TEST(FileOrder, IndependentLoadsDifferAsOftenAsChanceSays) {
  Random random(5);
  for (const int count : {8, 16, 50, 256, 1000, 3000}) {
    for (const double jitter : {1.0, 20.0}) {
      int differ = 0;
      for (int trace = 0; trace < 1000; ++trace)
        differ +=
            static_cast<int>(same_all_along(loads_along(count, jitter, random, [](double) { return 90; })) <= 0.01);
      EXPECT_LE(differ, 21) << count << " of " << jitter << ": 10 and four standard errors at most";
    }
  }
}

TEST(FileOrder, TrendsStepsAndOscillationsShow) {
  Random random(5);
  const std::vector<std::function<double(double)>> levels = {
      [](double at) { return 90 + 27 * at; },
      [](double at) { return at < 0.8 ? 90 : 94; },
      [](double at) { return at < 0.1 ? 86 : 90; },
      [](double at) { return std::fmod(at * 5, 2) < 1 ? 90 : 94; },
  };
  for (const auto& level : levels)
    for (const int count : {100, 256, 1000, 5000})
      EXPECT_LE(same_all_along(loads_along(count, 2, random, level)), 0.01) << count;
}

TEST(FileOrder, WhatRepeatsWithinAStretchDoesntShow) {
  std::vector<double> values;
  for (int i = 0; i < 256; ++i) values.push_back(i % 2 == 0 ? 200 : 240);
  EXPECT_GT(same_all_along(values), 0.5);
  EXPECT_EQ(same_all_along(std::vector<double>(100, 40)), 1);
  EXPECT_EQ(same_all_along(std::vector<double>{1, 2, 3, 4, 5, 6, 7}), 1) << "too few";
}

TEST(FileOrder, MediansOfStretchesCoverWhatALevelWas) {
  Random random(5);
  const auto values = loads_along(900, 1, random, [](double at) { return 300 + 100 * at; });
  const MedianRange along = medians_along(values);
  EXPECT_NEAR(along.low, 302, 3);
  EXPECT_NEAR(along.high, 398, 3);
  const MedianRange one = medians_along(std::vector<double>{7, 3, 5});
  EXPECT_EQ(one.low, 3);
  EXPECT_EQ(one.high, 7);
}

}  // namespace
}  // namespace gputopo::change_point
