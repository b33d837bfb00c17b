// Several modules' constant banks as one stretch: every load where one long buffer would have it, none behind a bank.
#include "evidence/looks/banks.hpp"

#include <gtest/gtest.h>

namespace gputopo::evidence {
namespace {

constexpr std::uint64_t bank = 1024, load_bytes = 64;

program::Walk over_stretch(std::uint64_t first, std::uint64_t footprint, std::uint64_t stride) {
  program::Walk walk;
  walk.first_byte = first;
  walk.footprint_bytes = footprint;
  walk.stride_bytes = stride;
  return walk;
}

// Where a walk's loads lie in the stretch, in turn.
std::vector<std::uint64_t> visited(const program::Walk& walk) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = 0; i < program::positions(walk); ++i)
    all.push_back(walk.buffer * bank + walk.first_byte + i * walk.stride_bytes);
  return all;
}

TEST(Banks, KeepEveryLoadWhereItIs) {
  for (const std::uint64_t stride : {64U, 192U, 256U, 1024U, 3072U})
    for (const std::uint64_t first : {0U, 64U, 960U, 1024U, 2240U})
      for (const std::uint64_t loads : {1U, 2U, 5U, 17U}) {
        const program::Walk walk = over_stretch(first, loads * stride, stride);
        std::vector<std::uint64_t> found;
        for (const program::Walk& part : over_banks(walk, bank, load_bytes)) {
          EXPECT_LE(part.first_byte + part.footprint_bytes, bank) << first << " " << stride << " " << loads;
          for (const std::uint64_t place : visited(part)) found.push_back(place);
        }
        EXPECT_EQ(found, visited(walk)) << first << " " << stride << " " << loads;
      }
}

TEST(Banks, LeaveAWalkWithinOneAsItIs) {
  const auto parts = over_banks(over_stretch(128, 512, 128), bank, load_bytes);
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts.front().footprint_bytes, 512U);
}

TEST(Banks, AreAddedAsFarAsTheStretchGoes) {
  for (const auto& [bytes, buffers] : {std::pair{1U, 1U}, {1024U, 1U}, {1025U, 2U}, {3072U, 3U}}) {
    program::Program p;
    p.buffers.push_back({program::Space::constant, bank, 0});
    add_banks(p, bank, bytes);
    EXPECT_EQ(p.buffers.size(), buffers) << bytes;
    for (std::uint32_t module = 0; module < p.buffers.size(); ++module) EXPECT_EQ(p.buffers[module].module, module);
  }
}

}  // namespace
}  // namespace gputopo::evidence
