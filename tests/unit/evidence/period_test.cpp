#include "evidence/inference/period.hpp"

#include <array>

#include <gtest/gtest.h>

namespace gputopo::evidence {
namespace {

constexpr Contamination no_strangers{0.001, 0.001, 5000};

template <std::size_t n>
std::array<bool, n> every(std::size_t period) {
  std::array<bool, n> missed{};
  for (std::size_t i = 0; i < n; i += period) missed.at(i) = true;
  return missed;
}

TEST(Period, IsTheSpacingOfColdMisses) {
  const Estimate e = period_of(every<512>(8), 4, no_strangers, "cold_misses");
  ASSERT_EQ(e.status, Status::measured);
  EXPECT_EQ(*e.value, 32);
  EXPECT_GT(*e.confidence, 0.99);
}

TEST(Period, OfOneWordWhereAllMiss) {
  EXPECT_EQ(*period_of(every<512>(1), 4, no_strangers, "").value, 4);
}

TEST(Period, SurvivesStrangers) {
  auto missed = every<2048>(16);
  for (std::size_t i = 7; i < missed.size(); i += 23) missed.at(i) = true;
  const Estimate e = period_of(missed, 4, {0.05, 0.01, 5000}, "");
  ASSERT_TRUE(e.has_value());
  EXPECT_EQ(*e.value, 64);
}

TEST(Period, OfMissesWithoutPatternIsOpen) {
  std::array<bool, 512> missed{};
  std::uint64_t state = 7;
  for (bool& m : missed) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    m = (state >> 62U) == 0;
  }
  EXPECT_EQ(period_of(missed, 4, no_strangers, "").status, Status::inconclusive);
}

}  // namespace
}  // namespace gputopo::evidence
