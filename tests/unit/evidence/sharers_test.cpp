// Which SMs share a cache, from what each loses to others.
#include "experiments/sharers.hpp"

#include <algorithm>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gputopo::experiments {
namespace {

evidence::Tally lost(bool all) {
  evidence::Tally tally;
  tally.loads = 1000;
  tally.misses = all ? 1000 : 0;
  return tally;
}

// A GPU of `sms` SMs, of which two lose each other's lines where `share` says so.
Sharers found_on(std::uint32_t sms, const std::function<bool(std::uint32_t, std::uint32_t)>& share) {
  const auto sharers = find_sharers(sms, 4, [&](std::uint32_t first, const evidence::SmSets& sets) {
    std::vector<evidence::Tally> seen;
    for (const auto& set : sets)
      seen.push_back(
          lost(std::any_of(set.begin(), set.end(), [&](std::uint32_t sm) { return sm != first && share(first, sm); })));
    seen.push_back(lost(true));
    seen.push_back(lost(false));
    return Expected<std::vector<evidence::Tally>>(seen);
  });
  return sharers.value();
}

TEST(Sharers, OfACacheOfTwoSmsEach) {
  const Sharers found = found_on(9, [](std::uint32_t a, std::uint32_t b) { return a / 2 == b / 2; });
  EXPECT_FALSE(found.has_problem) << "one SM is left over";
  EXPECT_THAT(found.groups,
              testing::ElementsAre(testing::ElementsAre(0, 1), testing::ElementsAre(2, 3), testing::ElementsAre(4, 5),
                                   testing::ElementsAre(6, 7), testing::ElementsAre(8)));
}

TEST(Sharers, AreNotAFewAmongManyThatAreAlone) {
  const Sharers found = found_on(24, [](std::uint32_t a, std::uint32_t b) { return a % 7 == 0 && b % 7 == 0; });
  EXPECT_TRUE(found.has_problem) << "something else pushed those lines out";
}

TEST(Sharers, AreNoneWhereNobodyLosesAnything) {
  const Sharers found = found_on(24, [](std::uint32_t, std::uint32_t) { return false; });
  EXPECT_FALSE(found.has_problem);
  EXPECT_EQ(found.groups.size(), 24U);
}

}  // namespace
}  // namespace gputopo::experiments
