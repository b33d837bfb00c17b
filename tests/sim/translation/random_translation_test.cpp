// Any TLBs of the domain: nothing false is said, and most is told.
#include "tests/sim/translation/random_translation.hpp"

#include <gtest/gtest.h>

#include "tests/sim/translation/found_translation.hpp"

namespace gputopo::test {
namespace {

TEST(RandomTranslation, IsToldRightOrLeftOpen) {
  int exact = 0, open = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const auto model = sim::parse_model(random_translation(seed).dump(), "random");
    ASSERT_TRUE(model) << seed << ": " << model.error().message;
    for (const Found& found : translation_found(*model, discovered_translation(*model))) {
      EXPECT_NE(found.answer, Answer::wrong) << seed << ": " << text_of(found);
      exact += found.answer == Answer::exact ? 1 : 0;
      open += found.answer == Answer::open ? 1 : 0;
    }
  }
  EXPECT_GT(exact, open);
}

// Found wrong once: entries taken for those of the next level, which cover more; a level that hardly shows between two
// others; SMs that kept a translation nearer than where another one looked for it.
TEST(RandomTranslation, OfMendedModelsIsNothingWrongAnyMore) {
  for (const std::uint64_t seed : {51019, 51024, 51029, 51032, 51048, 51110, 51126, 51146, 51149, 992006, 993027}) {
    const auto model = sim::parse_model(random_translation(seed).dump(), "random");
    ASSERT_TRUE(model) << seed << ": " << model.error().message;
    for (const Found& found : translation_found(*model, discovered_translation(*model)))
      EXPECT_NE(found.answer, Answer::wrong) << seed << ": " << text_of(found);
  }
}

}  // namespace
}  // namespace gputopo::test
