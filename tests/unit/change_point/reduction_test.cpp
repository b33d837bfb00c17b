#include "change_point/reduction.hpp"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

namespace gputopo::change_point {
namespace {

TEST(GeometricMapping, ByHand) {
  const GeometricPoint at_reference = geometric_mapping(std::vector<double>{1, 1, 1});
  EXPECT_EQ(at_reference.distance, 0);
  EXPECT_NEAR(at_reference.angle_radians, 0, 1e-7);

  const GeometricPoint three_four = geometric_mapping(std::vector<double>{4, 5});
  EXPECT_DOUBLE_EQ(three_four.distance, 5);
  EXPECT_NEAR(three_four.angle_radians, std::acos(9 / std::sqrt(82.0)), 1e-15);

  const GeometricPoint axis = geometric_mapping(std::vector<double>{1, 0});
  EXPECT_DOUBLE_EQ(axis.distance, 1);
  EXPECT_DOUBLE_EQ(axis.angle_radians, std::numbers::pi / 4);

  const GeometricPoint opposite = geometric_mapping(std::vector<double>{-2, -2});
  EXPECT_DOUBLE_EQ(opposite.distance, std::sqrt(18.0));
  EXPECT_NEAR(opposite.angle_radians, std::numbers::pi, 1e-7);

  const GeometricPoint from_forty = geometric_mapping(std::vector<double>{40, 40, 240}, 40);
  EXPECT_DOUBLE_EQ(from_forty.distance, 200);
  EXPECT_NEAR(from_forty.angle_radians, std::acos(320 / (std::sqrt(60800.0) * std::sqrt(3.0))), 1e-15);
}

TEST(GeometricMapping, HasNoAngleWithoutADirection) {
  EXPECT_EQ(geometric_mapping(std::vector<double>{}).distance, 0);
  EXPECT_EQ(geometric_mapping(std::vector<double>{0, 0}).angle_radians, 0);
  EXPECT_DOUBLE_EQ(geometric_mapping(std::vector<double>{0, 0}).distance, std::sqrt(2.0));
  EXPECT_EQ(geometric_mapping(std::vector<double>{3, 4}, 0).angle_radians, 0);
  EXPECT_DOUBLE_EQ(geometric_mapping(std::vector<double>{3, 4}, 0).distance, 5);
}

TEST(DistancesPerLoad, CompareRowsOfDifferentLength) {
  const Trace trace{{{1024, {40, 40}}, {2048, {40, 40, 40, 40, 40}}, {4096, {41, 41}}}};
  const auto distances = distances_per_load(trace);
  EXPECT_DOUBLE_EQ(distances[0], 39);
  EXPECT_DOUBLE_EQ(distances[1], 39);
  EXPECT_DOUBLE_EQ(distances[2], 40);
}

}  // namespace
}  // namespace gputopo::change_point
