#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "counters/open.hpp"

namespace gputopo::counters {
namespace {

TEST(WithoutCupti, OpeningSaysThatItWasBuiltWithoutIt) {
  const auto counter = open_counter(0);
  ASSERT_FALSE(counter);
  EXPECT_EQ(counter.error().kind, Error::Kind::unavailable);
  EXPECT_THAT(counter.error().message, ::testing::HasSubstr("built without CUPTI"));
}

}  // namespace
}  // namespace gputopo::counters
