#include "device/replay/integer_text.hpp"

#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace gputopo::replay {
namespace {

using List = std::vector<std::uint32_t>;
constexpr std::size_t limit = 1000000;
constexpr std::uint32_t largest = std::numeric_limits<std::uint32_t>::max();

TEST(IntegerText, NumbersAreWrittenAsSpecified) {
  const auto text = [](std::uint64_t value) {
    std::string t;
    append_number(t, value);
    return t;
  };
  EXPECT_EQ(text(0), "A");
  EXPECT_EQ(text(31), "f");
  EXPECT_EQ(text(32), "gB");  // 0 with more to follow, then 1
  EXPECT_EQ(text(1023), "_f");
}

TEST(IntegerText, NumbersComeBack) {
  for (const std::uint64_t value :
       {0ULL, 1ULL, 31ULL, 32ULL, 1023ULL, 1024ULL, 1ULL << 59, 1ULL << 60, 1ULL << 63, ~0ULL}) {
    std::string text;
    append_number(text, value);
    text += "rest;";
    std::string_view view = text;
    view = view.substr(0, text.size() - 5);
    EXPECT_EQ(take_number(view), value);
    EXPECT_TRUE(view.empty());
  }
}

TEST(IntegerText, BrokenNumbersAreRefused) {
  for (const std::string bad : {"", "g", "?", "gg?", "ggggggggggggQ", "gggggggggggggggggggggggA"}) {
    std::string_view view = bad;
    EXPECT_FALSE(take_number(view)) << bad;
  }
}

TEST(IntegerText, ListsComeBack) {
  const std::vector<List> lists{{},
                                {0},
                                {largest},
                                {0, largest, 0},
                                {38, 38, 38, 38, 38},
                                {38, 38},
                                {1, 2, 3, 4},
                                {largest, largest, largest, largest, largest, 0}};
  for (const List& list : lists) EXPECT_EQ(decode_list(encode_list(list), limit), list);
}

TEST(IntegerText, ListsOf64BitsComeBack) {
  constexpr std::uint64_t top = std::numeric_limits<std::uint64_t>::max();
  using Longs = std::vector<std::uint64_t>;
  for (const Longs& list : {Longs{}, Longs{top}, Longs{0, top, 0, top, 1}, Longs{top, 1ULL << 63, (1ULL << 63) - 1, 0},
                            Longs{5000000000, 5000000001, 4999999999}, Longs(9, top)})
    EXPECT_EQ(decode_list<std::uint64_t>(encode_list(list), limit), list);
  EXPECT_FALSE(decode_list<std::uint32_t>(encode_list(Longs{std::uint64_t{largest} + 1}), limit));
}

TEST(IntegerText, RandomListsComeBack) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    List list(random() % 40);
    const std::uint32_t spread = 1U << random() % 32;
    for (auto& value : list)
      value = random() % 3 == 0 && !list.empty() ? list.front() : static_cast<std::uint32_t>(random() % spread);
    ASSERT_EQ(decode_list(encode_list(list), limit), list);
  }
}

TEST(IntegerText, EqualValuesTakeNoRoom) {
  EXPECT_LE(encode_list(List(100000, 38)).size(), 10U);
}

TEST(IntegerText, LatenciesOfAChipTakeTwoCharactersEach) {
  std::mt19937 random(1);
  List list(2048);
  for (auto& value : list) value = 263 + static_cast<std::uint32_t>(random() % 79);
  EXPECT_LE(encode_list(list).size(), 2 * list.size() + 8);
}

TEST(IntegerText, ListsBeyondTheLimitAreRefused) {
  const std::string text = encode_list(List(1001, 7));
  EXPECT_TRUE(decode_list(text, 1001));
  EXPECT_FALSE(decode_list(text, 1000));
  EXPECT_FALSE(decode_list("+C*__________f", limit));  // a repetition that would fill the memory
}

TEST(IntegerText, BrokenListsAreRefused) {
  for (const char* bad : {"A", "-A", "=", "=g", "+g", "+*B", "+A*", "+B", "=AB", "+A B"})
    EXPECT_FALSE(decode_list(bad, limit)) << bad;
  std::string beyond = "+";
  append_number(beyond, (std::uint64_t{1} << 33));  // 2^32, one more than fits
  EXPECT_FALSE(decode_list(beyond, limit));
}

}  // namespace
}  // namespace gputopo::replay
