// Stretches of an L2's pages.
#include "evidence/chip/l2_pages.hpp"

#include <gtest/gtest.h>

namespace gputopo::evidence {
namespace {

TEST(L2Pages, AreMeansOfEverShorterStretches) {
  std::vector<std::vector<double>> by_sm(2);
  for (int line = 0; line < 64; ++line) {
    by_sm[0].push_back(300 + (line / 4 % 2 == 0 ? 0 : 40) + (line % 2 == 0 ? -30 : 30));
    by_sm[1].push_back(line);
  }
  const auto all = stretches_of(by_sm);
  ASSERT_EQ(all.size(), 6U) << "of 32, 16, 8, 4, 2 lines and 1";
  EXPECT_EQ(all.front()[0], (std::vector<double>{320, 320}));
  EXPECT_EQ(all.front()[1], (std::vector<double>{15.5, 47.5}));
  ASSERT_EQ(all[3][0].size(), 16U);
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(all[3][0][i], i % 2 == 0 ? 300 : 340);
  EXPECT_EQ(all.back(), by_sm);
}

}  // namespace
}  // namespace gputopo::evidence
