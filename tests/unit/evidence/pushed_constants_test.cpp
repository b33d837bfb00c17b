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

constexpr std::uint64_t kib = 1 << 10;

// A cache in front of a small L2 may hold half as much; of a large one half is enough for all that there is.
TEST(PushedConstants, ArePushedByThreeQuartersOfAnL2ThatIsSmall) {
  device::DeviceInfo info;
  info.constant_bytes_per_module = 64 * kib;
  info.constant_modules = 8;
  info.has_execute = true;
  info.execute_limit_bytes = 128 * kib;
  const std::vector<Eviction> small = evictions_of(info, kib, 128 * kib);
  ASSERT_GE(small.size(), 3U);
  const std::size_t n = small.size();
  EXPECT_EQ(small[n - 3].bytes(info.constant_bytes_per_module), 64 * kib);
  EXPECT_EQ(small[n - 2].far_bytes + small[n - 2].part_bytes, 96 * kib) << "constants alone, which code may pass";
  EXPECT_EQ(small[n - 1].far_bytes + small[n - 1].code_bytes, 96 * kib);
  const Eviction large = evictions_of(info, kib, 4096 * kib).back();
  EXPECT_EQ(large.other_banks, 7U);
  EXPECT_EQ(large.code_bytes, 0U);
  EXPECT_LE(evictions_of(info, kib, 8 * kib).back().bytes(info.constant_bytes_per_module), 6 * kib);
}

}  // namespace
}  // namespace gputopo::evidence
