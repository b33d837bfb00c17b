// What looks at a circle take: of the very loads that walks of it count.
#include <algorithm>

#include <gtest/gtest.h>

#include "answering_device.hpp"
#include "evidence/organisation/circles.hpp"
#include "evidence/translation/pages.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;

constexpr std::uint32_t found_cycles = 30, late_cycles = 50;
constexpr std::uint64_t lines = 7;

// Which loads wait goes by what came before in the walk: by their number, how long it is, and where it begins.
std::uint32_t answer(const program::Program&, const program::Walk& walk, std::size_t load) {
  const std::uint64_t at = load * 31 + walk.laps * 7 + walk.loads_per_lap * 3 + walk.first_byte / 128;
  return at % 11 < 3 ? late_cycles : found_cycles;
}

CacheFacts facts() {
  CacheFacts f;
  f.path = pages_path;
  f.path.id = "tlb_l1";
  f.line_bytes = 128;
  f.room_lines = 64;
  f.levels.threshold_cycles = 40;
  return f;
}

TEST(CircleTimes, AreOfTheLoadsThatAWalkCounts) {
  AnsweringDevice device(answer);
  device.change_info().largest_recording = 1024;
  Session session(device, {});
  const CacheFacts cache = facts();
  Circles circles(session, cache, Scope::gpu);
  for (const std::uint64_t first : {0, 5}) {
    for (const std::uint32_t rounds : {1U, 3U, 8U}) {
      const Circle circle{first, lines};
      const auto losses = circles.walk(std::vector{circle}, Effort{rounds});
      const auto cycles = circles.times(circle, Effort{rounds});
      ASSERT_TRUE(losses && cycles);
      const auto late = std::count(cycles->begin(), cycles->end(), late_cycles);
      EXPECT_EQ(cycles->size(), losses->front().total_looks());
      EXPECT_EQ(static_cast<std::uint64_t>(late), losses->front().total_misses());
      EXPECT_GT(late, 0);
    }
  }
}

}  // namespace
}  // namespace gputopo::experiments
