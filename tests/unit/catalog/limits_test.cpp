#include "catalog/limits.hpp"

#include <gtest/gtest.h>

namespace gputopo::catalog {
namespace {

TEST(PublishedLimits, ByComputeCapability) {
  EXPECT_EQ(published_limits("9.0"), (Limits{128, 32, 1024, 2048, 32, 49152, 65536}));
  EXPECT_EQ(published_limits("7.5"), (Limits{64, 32, 1024, 1024, 16, 49152, 65536}));
  EXPECT_EQ(published_limits("1.3"), (Limits{8, 32, 512, 1024, 8, 16384, 65536}));
  EXPECT_EQ(published_limits("3.5").cores_per_sm, 192U);
}

TEST(PublishedLimits, UnknownOnesAreNotGuessed) {
  EXPECT_EQ(published_limits("99.9"), Limits{});
  EXPECT_EQ(published_limits(""), Limits{});
}

TEST(PublishedLimits, OneArrayOfL1AndSharedMemoryFromVoltaOn) {
  EXPECT_EQ(published_unified_bytes("9.0", 228U << 10), 256U << 10);
  EXPECT_EQ(published_unified_bytes("9.0", 96U << 10), 0U) << "an SM that isn't the published one";
  EXPECT_EQ(published_unified_bytes("7.5", 64U << 10), 96U << 10);
  EXPECT_EQ(published_unified_bytes("5.2", 96U << 10), 0U);
  EXPECT_EQ(published_unified_bytes("", 0), 0U);
}

}  // namespace
}  // namespace gputopo::catalog
