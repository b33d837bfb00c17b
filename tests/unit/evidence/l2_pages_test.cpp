// Whether sides of an L2 would show among distances.
#include "evidence/chip/l2_pages.hpp"

#include <random>

#include <gtest/gtest.h>

namespace gputopo::evidence {
namespace {

constexpr std::size_t pages = 48;
constexpr double near_page_cycles = 300, level_cycles = 15;

// What SMs see of pages where each SM has a side of the GPU and each stretch of `together` pages lives on one, but for
// `scatter` cycles either side.
std::vector<std::vector<double>> seen(std::mt19937& draw, std::size_t sms, std::size_t sides, std::size_t together,
                                      double scatter) {
  std::vector<std::size_t> homes;
  for (std::size_t page = 0; page < pages; ++page)
    homes.push_back(page % together == 0 ? draw() % sides : homes.back());
  std::uniform_real_distribution<double> offset(-scatter, scatter);
  const bool take_turns = draw() % 2 == 0;
  std::vector<std::vector<double>> by_sm;
  for (std::size_t sm = 0; sm < sms; ++sm) {
    const std::size_t side = take_turns ? sm % sides : sm * sides / sms;
    auto& row = by_sm.emplace_back();
    for (std::size_t page = 0; page < pages; ++page)
      row.push_back(near_page_cycles + (homes[page] == side ? 0 : level_cycles) + offset(draw));
  }
  return by_sm;
}

TEST(L2Pages, LeaveNoSidesOutHoweverFewSmsSeeThem) {
  std::mt19937 draw(7);
  for (const std::size_t sides : {2U, 4U})
    for (const std::size_t sms : {sides, sides + 1, std::size_t{6}, std::size_t{9}, std::size_t{16}})
      for (int time = 0; time < 500; ++time)
        EXPECT_FALSE(would_sides_show(seen(draw, sms, sides, 1 + draw() % 2, draw() % 6)))
            << sides << " sides of " << sms << " SMs";
}

// Slices each at a distance of its own for each SM, which leave pages a sixth of a level apart.
TEST(L2Pages, HaveNoSidesWhereNoPatternIsAsLargeAsTheirs) {
  std::mt19937 draw(7);
  for (int time = 0; time < 100; ++time) EXPECT_TRUE(would_sides_show(seen(draw, 12, 1, 1, level_cycles / 3)));
  for (int time = 0; time < 100; ++time) EXPECT_FALSE(would_sides_show(seen(draw, 12, 1, 1, 2 * level_cycles)));
}

// How far SMs and pages lie as such says nothing of sides.
TEST(L2Pages, MayBeFarAndSmsSlow) {
  std::mt19937 draw(7);
  auto by_sm = seen(draw, 8, 1, 1, 1);
  for (std::size_t sm = 0; sm < by_sm.size(); ++sm)
    for (std::size_t page = 0; page < pages; ++page)
      by_sm[sm][page] += 10.0 * static_cast<double>(sm) + 40.0 * static_cast<double>(page % 3);
  EXPECT_TRUE(would_sides_show(by_sm));
}

}  // namespace
}  // namespace gputopo::evidence
