#include "cli/progress.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace gputopo::cli {
namespace {

TEST(Progress, FillsWithTheWorkDone) {
  EXPECT_EQ(progress_line(0, "l1", 79), "[..............................]   0 %  l1");
  EXPECT_EQ(progress_line(0.5, "l2", 79), "[###############...............]  50 %  l2");
  EXPECT_EQ(progress_line(1, "done", 79), "[##############################] 100 %  done");
}

TEST(Progress, StaysInItsBoundsAndItsLine) {
  EXPECT_EQ(progress_line(7, "x", 79), progress_line(1, "x", 79));
  EXPECT_EQ(progress_line(-7, "x", 79), progress_line(0, "x", 79));
  EXPECT_EQ(progress_line(std::numeric_limits<double>::quiet_NaN(), "x", 79), progress_line(0, "x", 79));
  EXPECT_EQ(progress_line(0.5, std::string(200, 'x'), 60).size(), 60U);
}

}  // namespace
}  // namespace gputopo::cli
