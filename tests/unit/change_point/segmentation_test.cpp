#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <numbers>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "change_point/pelt.hpp"
#include "change_point/random.hpp"
#include "change_point/split.hpp"

namespace gputopo::change_point {
namespace {

Cost cost_of(const std::string& name) {
  return std::map<std::string, Cost>{{"l2", Cost::l2}, {"normal", Cost::normal}, {"rank", Cost::rank}}.at(name);
}

nlohmann::json segmentation_reference() {
  std::ifstream file(GPUTOPO_SOURCE_DIR "/tests/fixtures/change_point/segmentation.json");
  return nlohmann::json::parse(file);
}

TEST(SegmentCost, ByHand) {
  const std::vector<double> series = {1, 3, 10, 10};
  EXPECT_DOUBLE_EQ(SegmentCost(series, Cost::l2)(0, 2), 2);
  EXPECT_DOUBLE_EQ(SegmentCost(series, Cost::l2)(2, 4), 0);
  EXPECT_DOUBLE_EQ(SegmentCost(series, Cost::l2)(0, 4), 66);
  EXPECT_DOUBLE_EQ(SegmentCost(series, Cost::l2).mean(1, 3), 6.5);
  // Variance 1 over two values: 2 (log 1 + log 2 pi + 1).
  EXPECT_NEAR(SegmentCost(series, Cost::normal)(0, 2), 2 * (std::log(2 * std::numbers::pi) + 1), 1e-7);
  // Ranks 1, 2, 3.5, 3.5.
  EXPECT_DOUBLE_EQ(SegmentCost(series, Cost::rank)(0, 2), 0.5);
  EXPECT_DOUBLE_EQ(SegmentCost(series, Cost::rank)(1, 3), 2 * 0.75 * 0.75);
}

TEST(SegmentCost, KeepsItsDigitsFarFromZero) {
  const std::vector<double> series = {1e9 + 1, 1e9 + 2, 1e9 + 3};
  EXPECT_NEAR(SegmentCost(series, Cost::l2)(0, 3), 2, 1e-6);
}

TEST(MidRanks, TiesShareTheirMean) {
  EXPECT_EQ(mid_ranks(std::vector<double>{5, 1, 5, 9}), (std::vector<double>{2.5, 1, 2.5, 4}));
}

TEST(BestSplit, IsTheFirstElementAfterTheChange) {
  const std::vector<double> series = {5, 5, 5, 9, 9};
  const auto split = best_split(SegmentCost(series, Cost::l2));
  ASSERT_TRUE(split);
  EXPECT_EQ(split->first_after, 3U);
  EXPECT_NEAR(split->cost, 0, 1e-12);
  EXPECT_DOUBLE_EQ(split->cost_without, 19.2);
  EXPECT_FALSE(best_split(SegmentCost(std::vector<double>{1}, Cost::l2)));
  EXPECT_FALSE(best_split(SegmentCost(std::vector<double>{1, 2, 3}, Cost::normal)));
}

TEST(BestSplit, RanksShrugOffAnOutlier) {
  std::vector<double> series(20, 1);
  for (std::size_t i = 0; i < series.size(); ++i) {
    series[i] = (i < 12 ? 10 : 11) + 0.01 * static_cast<double>(i * 7 % 5);
  }
  series[3] = 5000;
  EXPECT_EQ(best_split(SegmentCost(series, Cost::rank))->first_after, 12U);
  EXPECT_NE(best_split(SegmentCost(series, Cost::l2))->first_after, 12U);
}

TEST(BestSplit, AgreesWithExhaustiveSearch) {
  const auto cases = segmentation_reference();
  ASSERT_GE(cases.size(), 200U);
  for (const auto& row : cases) {
    const auto values = row.at("values").get<std::vector<double>>();
    const auto split = best_split(SegmentCost(values, cost_of(row.at("kind"))));
    ASSERT_TRUE(split);
    const double expected = row.at("split_cost");
    EXPECT_NEAR(split->cost, expected, 1e-9 * (1 + std::abs(expected)));
    EXPECT_EQ(split->first_after, row.at("split").get<std::size_t>());
  }
}

TEST(Pelt, AgreesWithTheQuadraticProgramme) {
  for (const auto& row : segmentation_reference()) {
    const auto values = row.at("values").get<std::vector<double>>();
    const double penalty = row.at("penalty");
    const auto found = pelt(SegmentCost(values, cost_of(row.at("kind"))), penalty, row.at("shortest"));
    EXPECT_EQ(found.first_after, row.at("changes").get<std::vector<std::size_t>>()) << row;
    const double total = found.cost + penalty * static_cast<double>(found.first_after.size());
    const double expected = row.at("total");
    EXPECT_NEAR(total, expected, 1e-9 * (1 + std::abs(expected)));
  }
}

TEST(Pelt, PrunesNothingThatALongShortestSegmentStillNeeds) {
  Random random(21);
  for (int repetition = 0; repetition < 3000; ++repetition) {
    const std::size_t shortest = 2 + random.below(5);
    std::vector<double> series(12 + random.below(20));
    double level = 0;
    for (double& value : series) {
      level += random.below(4) == 0 ? 6 * random.normal() : 0;
      value = level + random.normal();
    }
    const SegmentCost cost(series, Cost::l2);
    const double penalty = 0.2 + 2 * random.uniform();
    std::vector<double> best(series.size() + 1, HUGE_VAL);
    best[0] = -penalty;
    for (std::size_t end = shortest; end <= series.size(); ++end) {
      for (std::size_t start = 0; start + shortest <= end; ++start) {
        best[end] = std::min(best[end], best[start] + cost(start, end) + penalty);
      }
    }
    const Segmentation found = pelt(cost, penalty, shortest);
    ASSERT_NEAR(found.cost + penalty * static_cast<double>(found.first_after.size()), best.back(), 1e-9);
  }
}

TEST(Pelt, KeepsShortSeriesWhole) {
  EXPECT_TRUE(pelt(SegmentCost(std::vector<double>{}, Cost::l2), 1).first_after.empty());
  EXPECT_TRUE(pelt(SegmentCost(std::vector<double>{1}, Cost::l2), 1).first_after.empty());
  EXPECT_TRUE(pelt(SegmentCost(std::vector<double>{1, 99, 1}, Cost::l2), 1, 2).first_after.empty());
}

TEST(BicPenalty, CountsAPlaceAndTheParametersOfALevel) {
  EXPECT_DOUBLE_EQ(bic_penalty(Cost::l2, 100, 4), 8 * std::log(100.0));
  EXPECT_DOUBLE_EQ(bic_penalty(Cost::normal, 100, 4), 3 * std::log(100.0));
  EXPECT_DOUBLE_EQ(bic_penalty(Cost::rank, 100, 4), 2 * std::log(100.0) * 9999 / 12);
}

}  // namespace
}  // namespace gputopo::change_point
