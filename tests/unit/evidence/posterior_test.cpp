#include "evidence/inference/posterior.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "evidence/inference/capacity.hpp"

namespace gputopo::evidence {
namespace {

constexpr Wording wording{"no more", "no less", "who knows"};

Posterior of(std::vector<double> probability, std::size_t best) {
  Posterior p;
  for (std::size_t i = 0; i < probability.size(); ++i) p.values.push_back(100.0 * static_cast<double>(i + 1));
  p.probability = std::move(probability);
  p.least = 100;
  p.most = 900;
  p.best = best;
  return p;
}

TEST(Posterior, IntervalIsTheShortestRunWithItsShare) {
  const Posterior p = of({0.02, 0.1, 0.5, 0.3, 0.06, 0.02}, 2);
  EXPECT_EQ(p.credible(0.5), (Interval{300, 300}));
  EXPECT_EQ(p.credible(0.8), (Interval{300, 400}));
  EXPECT_EQ(p.credible(0.95), (Interval{200, 500}));
  const Estimate e = estimate_of(p, "m", 7, wording);
  EXPECT_EQ(e.status, Status::measured);
  EXPECT_EQ(*e.value, 300);
  EXPECT_EQ(*e.confidence, 0.5);
  EXPECT_EQ(e.interval, (Interval{200, 500}));
  EXPECT_EQ(e.samples, 7U);
  EXPECT_EQ(e.method, "m");
}

TEST(Posterior, EndsWithTheBetterPartAreBoundsByAsMuchAsIsSure) {
  Posterior p = of({0.01, 0.01, 0.28}, 1);
  p.at_least = 0.7;
  const Estimate more = estimate_of(p, "m", 1, wording);
  EXPECT_EQ(more.status, Status::lower_bound);
  EXPECT_EQ(*more.value, 300);
  EXPECT_EQ(*more.confidence, 0.98);
  EXPECT_EQ(more.note, "no less; so much for sure");
  EXPECT_FALSE(more.interval);
  p.probability = {0.28, 0.01, 0.01};
  p.at_least = 0;
  p.at_most = 0.7;
  const Estimate less = estimate_of(p, "m", 1, wording);
  EXPECT_EQ(less.status, Status::upper_bound);
  EXPECT_EQ(*less.value, 100);
  EXPECT_EQ(*less.confidence, 0.98);
}

TEST(Posterior, EndsThatAreSureByThemselvesAreTheBounds) {
  Posterior p = of({0.01, 0}, 1);
  p.at_least = 0.99;
  EXPECT_EQ(*estimate_of(p, "m", 1, wording).value, 900);
  EXPECT_EQ(estimate_of(p, "m", 1, wording).note, "no less");
  p.at_least = 0;
  p.at_most = 0.99;
  EXPECT_EQ(*estimate_of(p, "m", 1, wording).value, 100);
  EXPECT_EQ(estimate_of(p, "m", 1, wording).note, "no more");
}

// What no value and neither end has is that there is no such thing.
TEST(Posterior, EndsThatNoValuesMakeSureAreNoBounds) {
  Posterior p = of({0.1, 0.1}, 1);
  p.at_least = 0.7;
  EXPECT_EQ(estimate_of(p, "m", 1, wording).status, Status::inconclusive);
}

TEST(Posterior, NoBetterPartIsInconclusive) {
  Posterior p = of({0.2, 0.2}, 1);
  p.at_least = 0.3;
  p.at_most = 0.3;
  const Estimate e = estimate_of(p, "m", 1, wording);
  EXPECT_EQ(e.status, Status::inconclusive);
  EXPECT_FALSE(e.has_value());
  EXPECT_EQ(e.note, "who knows");
  Posterior two = of({0.48, 0.48}, 0);
  EXPECT_EQ(estimate_of(two, "m", 1, wording).status, Status::measured);
  two.take_likeliest();
  EXPECT_EQ(estimate_of(two, "m", 1, wording).status, Status::inconclusive) << "neither has the better part";
}

TEST(Posterior, ProbabilitiesByHand) {
  const std::vector<double> p = probabilities({-1000, -1000 + std::log(3.0), -1e300});
  EXPECT_NEAR(p[0], 0.25, 1e-12);
  EXPECT_NEAR(p[1], 0.75, 1e-12);
  EXPECT_EQ(p[2], 0);
}

// Rows of 500 loads that miss ever more after the fifteenth, fast or slowly: the slower, the wider.
TEST(Posterior, GrowsWithTheDoubt) {
  const auto sharpness_of = [](double first_misses) {
    Counts counts;
    for (int i = 0; i < 30; ++i) {
      const double misses = i < 15 ? 0 : std::min(500.0, first_misses * (i - 14));
      counts.push_back({100000.0 + 1000 * i, 500, static_cast<std::uint64_t>(misses), 0});
    }
    Sweep sweep;
    sweep.line_bytes = 1000;
    sweep.whole_laps = false;
    sweep.contamination = {0.005, 1e-4, 200};
    sweep.foreign = true;
    const CapacityPosterior p = capacity_posterior(counts, sweep);
    const Interval likely = p.credible(0.95);
    return std::pair(likely.high - likely.low, p.probability[p.best()]);
  };
  const auto [sharp, sure] = sharpness_of(40);
  const auto [blurred, unsure] = sharpness_of(1);
  EXPECT_EQ(sharp, 0);
  EXPECT_GT(blurred, sharp);
  EXPECT_GT(sure, 0.99);
  EXPECT_LT(unsure, 0.95);
}

}  // namespace
}  // namespace gputopo::evidence
