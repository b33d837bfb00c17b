#include "evidence/chip/slice_places.hpp"

#include <random>

#include <gtest/gtest.h>

namespace gputopo::evidence {
namespace {

constexpr std::size_t sms = 12;

struct Chip {
  Fingerprints first, second;
};

// Lines of slices in turn; `centres`: cycles by slice and SM.
Chip looks_at(const Fingerprints& centres, std::size_t lines, double noise_cycles) {
  std::mt19937 random(7);
  std::normal_distribution<> noise(0, noise_cycles);
  Chip chip;
  for (std::size_t line = 0; line < lines; ++line)
    for (Fingerprints* half : {&chip.first, &chip.second}) {
      half->push_back(centres[line % centres.size()]);
      for (double& cycles : half->back()) cycles += noise(random);
    }
  return chip;
}

Fingerprints slices_of(std::size_t count, double spread_cycles) {
  std::mt19937 random(3);
  std::uniform_real_distribution<> any(-spread_cycles, spread_cycles);
  Fingerprints centres(count, std::vector<double>(sms, 280));
  for (auto& slice : centres)
    for (double& cycles : slice) cycles += any(random);
  return centres;
}

TEST(SlicePlaces, AreAsManyAsSlicesWhereThoseLieApart) {
  const Chip chip = looks_at(slices_of(40, 20), 800, 0.7);
  const SlicePlaces places = slice_places(chip.first, chip.second);
  EXPECT_EQ(places.why_open, "");
  EXPECT_EQ(places.count, 40U);
  EXPECT_NEAR(places.noise_cycles, 0.5, 0.1);
  for (std::size_t line = 40; line < 800; ++line) EXPECT_EQ(places.of_line[line], places.of_line[line - 40]);
}

// As many cycles more for two lines of a slice, from one SM and in one half of the looks.
TEST(SlicePlaces, ArentWhereStrangersPutSomeLines) {
  Chip chip = looks_at(slices_of(12, 20), 480, 0.1);
  for (const std::size_t line : {5U, 17U, 41U, 53U}) chip.second[line][line % 4] += 60;
  EXPECT_EQ(slice_places(chip.first, chip.second).count, 12U);
}

TEST(SlicePlaces, OfSlicesInOnePlaceAreOne) {
  Fingerprints centres = slices_of(40, 20);
  for (std::size_t i = 0; i < 10; ++i) centres[i] = centres[i + 10];
  const Chip chip = looks_at(centres, 800, 0.7);
  EXPECT_EQ(slice_places(chip.first, chip.second).count, 30U);
}

TEST(SlicePlaces, AreNeverMoreThanSlicesWhateverLooksDifferBy) {
  for (const double noise : {0.1, 1.0, 3.0, 8.0, 20.0}) {
    const Chip chip = looks_at(slices_of(24, 15), 960, noise);
    EXPECT_LE(slice_places(chip.first, chip.second).count, 24U) << noise;
  }
}

TEST(SlicePlaces, AreOpenWhereAllLinesAreAlikeOrNoneIsLikeAnother) {
  const Chip alike = looks_at(slices_of(1, 20), 400, 0.7);
  EXPECT_NE(slice_places(alike.first, alike.second).why_open, "");
  const Chip each = looks_at(slices_of(400, 20), 400, 0.2);
  EXPECT_NE(slice_places(each.first, each.second).why_open, "");
}

}  // namespace
}  // namespace gputopo::evidence
