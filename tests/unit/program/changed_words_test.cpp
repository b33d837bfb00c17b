// Which walks may change words of one memory together: whether all agree is whether each two do.
#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "program/program.hpp"

namespace gputopo::program {
namespace {

Walk chase(std::uint64_t first_byte, std::uint64_t bytes) {
  Walk walk;
  walk.record = Record::lap_time;
  walk.first_byte = first_byte;
  walk.footprint_bytes = bytes;
  walk.stride_bytes = 32;
  return walk;
}

bool agree(const Walk& one, const Walk& other) {
  ChangedWords words;
  words.add(one);
  return words.may_be_joined_by(other);
}

TEST(ChangedWords, AreOfNobodyElseOrTheSameOrStored) {
  const Walk walk = chase(64, 128);
  EXPECT_TRUE(agree(walk, chase(0, 64)));
  EXPECT_TRUE(agree(walk, chase(192, 64)));
  EXPECT_FALSE(agree(walk, chase(0, 96)));
  EXPECT_FALSE(agree(walk, chase(160, 64)));
  EXPECT_FALSE(agree(walk, chase(0, 1024)));
  EXPECT_FALSE(agree(walk, chase(96, 32)));
  EXPECT_TRUE(agree(walk, walk));
  Walk as_element = walk;
  as_element.path = Path::texture;
  EXPECT_FALSE(agree(walk, as_element));
  Walk store = walk, other_store = chase(96, 512);
  store.path = other_store.path = Path::global_store;
  EXPECT_FALSE(agree(walk, store));
  EXPECT_TRUE(agree(store, other_store));
}

TEST(ChangedWords, AgreeWithAllWhereTheyAgreeWithEach) {
  std::mt19937 draw(7);
  std::size_t refused = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<Walk> walks;
    for (int i = 0; i < 12; ++i) {
      walks.push_back(chase(draw() % 40 * 32, draw() % 8 * 32));
      if (draw() % 4 == 0) walks.back().path = Path::global_store;
      if (draw() % 4 == 0) walks.back() = walks[draw() % walks.size()];
    }
    ChangedWords words;
    for (std::size_t i = 0; i < walks.size(); ++i) {
      const bool with_each =
          std::all_of(walks.begin(), walks.begin() + static_cast<std::ptrdiff_t>(i),
                      [&](const Walk& other) { return agree(other, walks[i]) && agree(walks[i], other); });
      EXPECT_EQ(words.may_be_joined_by(walks[i]), with_each) << "round " << round << ", walk " << i;
      refused += with_each ? 0 : 1;
      words.add(walks[i]);
    }
  }
  EXPECT_GT(refused, 300U);
}

}  // namespace
}  // namespace gputopo::program
