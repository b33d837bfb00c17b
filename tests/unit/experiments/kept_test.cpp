// Whether anybody else fills a cache: what is lost while nobody touches it, for as long as it is walked.
#include "evidence/looks/kept.hpp"

#include <gtest/gtest.h>

#include "answering_device.hpp"

namespace gputopo::evidence {
namespace {

constexpr std::uint32_t hit_cycles = 300, miss_cycles = 900;

// A cache of 4096 lines that goes by use, where another program brings in a line every `every_cycles`.
bool is_left_alone_where(double every_cycles) {
  constexpr double lines_held = 4096;
  experiments::AnsweringDevice device([&](const program::Program& p, const program::Walk& walk, std::size_t) {
    const auto& fill = std::get<program::Walk>(p.phases[0]);
    const auto& idle = std::get<program::Walk>(p.phases[1]);
    const double brought_in = static_cast<double>(program::lap_loads(idle)) * hit_cycles / every_cycles;
    return brought_in > lines_held - static_cast<double>(program::positions(fill)) &&
                   walk.record != program::Record::nothing
               ? miss_cycles
               : hit_cycles;
  });
  Session session(device, {});
  CacheFacts cache;
  cache.path = l1_path;
  cache.present = true;
  cache.line_bytes = 64;
  cache.latency_cycles = hit_cycles;
  cache.levels = levels_of({{hit_cycles, 1000}}, {{miss_cycles, 1000}});
  // A lap of what seems to fit takes as long as it takes the other to bring in the rest.
  const double seems_to_fit = lines_held / (1 + hit_cycles / every_cycles);
  auto alone = is_left_alone(session, cache, static_cast<std::uint64_t>(seems_to_fit) * 64, Scope::sm);
  EXPECT_TRUE(alone.has_value());
  return alone.value_or(false);
}

TEST(Kept, OthersShowThatTakeAPartOfTheCacheWhileItIsWalked) {
  EXPECT_FALSE(is_left_alone_where(600));
  EXPECT_FALSE(is_left_alone_where(900));
  EXPECT_TRUE(is_left_alone_where(1e9));
}

}  // namespace
}  // namespace gputopo::evidence
