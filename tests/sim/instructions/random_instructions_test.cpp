// Any instruction caches of the domain: nothing false is said, and most is told.
#include "tests/sim/instructions/random_instructions.hpp"

#include <gtest/gtest.h>

#include "tests/sim/instructions/found_instructions.hpp"

namespace gputopo::test {
namespace {

TEST(RandomInstructions, AreToldRightOrLeftOpen) {
  int exact = 0, open = 0;
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    const auto model = sim::parse_model(random_instructions(seed).dump(), "random");
    ASSERT_TRUE(model) << seed << ": " << model.error().message;
    for (const Found& found : instructions_found(*model, discovered_instructions(*model))) {
      EXPECT_NE(found.answer, Answer::wrong) << seed << ": " << text_of(found);
      exact += found.answer == Answer::exact ? 1 : 0;
      open += found.answer == Answer::open ? 1 : 0;
    }
  }
  EXPECT_GT(exact, open);
}

}  // namespace
}  // namespace gputopo::test
