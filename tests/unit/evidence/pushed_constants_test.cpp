// Looks at constants before and after they were pushed out, at the same places.
#include "evidence/lines/pushed_constants.hpp"

#include <gtest/gtest.h>

namespace gputopo::evidence {
namespace {

// Hits of the cache in front take 40; lines that it seldom loses lie far away, at 200, and others at 100.
TEST(PushedConstants, AreHeldAgainstAsManyLooksAtTheSameLine) {
  const LooksByLine before{{100, 100, 40, 100}, {40, 200, 40, 40}, {40, 40, 40, 40}};
  const LooksByLine after{{100, 100, 100, 100}, {200, 200, 200, 200}, {200, 200, 200, 200}};
  const PushedLooks same = same_places(before, after, 70);
  EXPECT_EQ(same.before, (Histogram{{100, 3}, {200, 1}}));
  EXPECT_EQ(same.after, same.before);
}

TEST(PushedConstants, LooksAreThoseThatTheCacheInFrontHadLost) {
  const PushedLooks same = same_places({{100, 100, 100}}, {{40, 150, 40}}, 70);
  EXPECT_EQ(same.before, (Histogram{{100, 1}}));
  EXPECT_EQ(same.after, (Histogram{{150, 1}}));
}

}  // namespace
}  // namespace gputopo::evidence
