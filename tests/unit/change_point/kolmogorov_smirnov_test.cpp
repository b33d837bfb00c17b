#include "change_point/kolmogorov_smirnov.hpp"

#include <cmath>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace gputopo::change_point {
namespace {

nlohmann::json reference() {
  std::ifstream file(GPUTOPO_SOURCE_DIR "/tests/fixtures/change_point/kolmogorov_smirnov.json");
  return nlohmann::json::parse(file);
}

TEST(KolmogorovSmirnov, StatisticByHand) {
  const std::vector<double> a = {1, 2, 3, 4};
  EXPECT_EQ(ks_statistic(a, std::vector<double>{5, 6}), 1);
  EXPECT_EQ(ks_statistic(a, a), 0);
  EXPECT_DOUBLE_EQ(ks_statistic(a, std::vector<double>{2.5, 2.5}), 0.5);
  EXPECT_DOUBLE_EQ(ks_statistic(std::vector<double>{1, 1, 1, 2}, std::vector<double>{1, 2, 2, 2}), 0.5);
}

TEST(KolmogorovSmirnov, ExactByHand) {
  // Of the C(4, 2) = 6 orders of two and two values, 2 are separated and 4 of the 6 reach D = 1/2 at most.
  EXPECT_DOUBLE_EQ(ks_exact_p_value(1, 2, 2), 2.0 / 6);
  EXPECT_DOUBLE_EQ(ks_exact_p_value(0.5, 2, 2), 1);
  EXPECT_DOUBLE_EQ(ks_exact_p_value(1, 1, 3), 2.0 / 4);
  EXPECT_EQ(ks_exact_p_value(0, 5, 7), 1);
}

TEST(KolmogorovSmirnov, StatisticAgreesWithScipy) {
  const auto samples = reference().at("samples");
  ASSERT_GE(samples.size(), 60U);
  for (const auto& sample : samples) {
    const auto a = sample.at("a").get<std::vector<double>>();
    const auto b = sample.at("b").get<std::vector<double>>();
    EXPECT_NEAR(ks_statistic(a, b), sample.at("d").get<double>(), 1e-12);
  }
}

TEST(KolmogorovSmirnov, PValuesAgreeWithScipy) {
  const auto p_values = reference().at("p_values");
  ASSERT_GE(p_values.size(), 60U);
  for (const auto& row : p_values) {
    const double d = row.at("d");
    const std::size_t m = row.at("m");
    const std::size_t n = row.at("n");
    const double exact = row.at("exact");
    const double limit = row.at("limit");
    EXPECT_NEAR(ks_exact_p_value(d, m, n), exact, 1e-9) << row;
    EXPECT_NEAR(ks_asymptotic_p_value(d, m, n), limit, 1e-9) << row;
    if (exact > 1e-200) {
      EXPECT_NEAR(ks_exact_p_value(d, m, n) / exact, 1, 1e-9) << row;
    }
  }
}

TEST(KolmogorovSmirnov, ExactForSmallSamplesAsymptoticForLarge) {
  EXPECT_EQ(ks_p_value(0.2, 100, 100), ks_exact_p_value(0.2, 100, 100));
  EXPECT_EQ(ks_p_value(0.01, 5000, 5000), ks_asymptotic_p_value(0.01, 5000, 5000));
}

TEST(KolmogorovSmirnov, CriticalValueOfTheThesis) {
  EXPECT_NEAR(ks_critical_value(0.05, 50, 50), 1.3581015 * std::sqrt(100.0 / 2500), 1e-6);
  // The limit's p-value there is the level, but for the terms that the formula drops.
  EXPECT_NEAR(ks_asymptotic_p_value(ks_critical_value(0.05, 400, 300), 400, 300), 0.05, 1e-4);
}

}  // namespace
}  // namespace gputopo::change_point
