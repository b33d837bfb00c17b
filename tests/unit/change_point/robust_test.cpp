#include "change_point/robust.hpp"

#include <gtest/gtest.h>

namespace gputopo::change_point {
namespace {

TEST(Shorth, IsTheCentreOfMostValuesWhereverTheOthersLie) {
  EXPECT_DOUBLE_EQ(shorth({10, 11, 12, 11, 10, 12, 11, 19, 23, 25, 21}), 11);
  EXPECT_DOUBLE_EQ(shorth({3, 1, 21, 22, 23, 22, 21, 23, 22}), 22);
}

// Whole numbers give many halves of the same length: the first of them would lie too low.
TEST(Shorth, IsTheMiddleOneOfEquallyShortHalves) {
  EXPECT_DOUBLE_EQ(shorth({1, 2, 3, 4, 5, 6, 7}), 4);
}

TEST(Shorth, OfOneValueIsThatAndOfNoneIsNone) {
  EXPECT_DOUBLE_EQ(shorth({7}), 7);
  EXPECT_DOUBLE_EQ(shorth({}), 0);
}

}  // namespace
}  // namespace gputopo::change_point
