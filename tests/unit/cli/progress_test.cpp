#include "cli/progress.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace gputopo::cli {
namespace {

TEST(Progress, FillsWithTheWorkDone) {
  EXPECT_EQ(progress_line(0, 0, "l1", 79), "[..............................]   0 %  0.0 s  l1");
  EXPECT_EQ(progress_line(0.5, 2.34, "l2", 79), "[###############...............]  50 %  2.3 s  l2");
  EXPECT_EQ(progress_line(1, 12, "done", 79), "[##############################] 100 %  12.0 s  done");
}

TEST(Progress, StaysInItsBoundsAndItsLine) {
  EXPECT_EQ(progress_line(7, 3, "x", 79), progress_line(1, 3, "x", 79));
  EXPECT_EQ(progress_line(-7, 3, "x", 79), progress_line(0, 3, "x", 79));
  EXPECT_EQ(progress_line(std::numeric_limits<double>::quiet_NaN(), 3, "x", 79), progress_line(0, 3, "x", 79));
  EXPECT_EQ(progress_line(0.5, 3, std::string(200, 'x'), 60).size(), 60U);
}

}  // namespace
}  // namespace gputopo::cli
