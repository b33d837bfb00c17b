// Any organisation of the domain: nothing false is said, and a good part is told.
#include "tests/sim/organisation/random_organisation.hpp"

#include <gtest/gtest.h>

#include "tests/sim/organisation/found.hpp"

namespace gputopo::test {
namespace {

TEST(RandomOrganisation, IsToldRightOrLeftOpen) {
  int exact = 0, open = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const auto model = sim::parse_model(random_organisation(seed).dump(), "random");
    ASSERT_TRUE(model) << seed << ": " << model.error().message;
    for (const Found& found : organisation_found(*model, discovered_deep(*model, {}))) {
      EXPECT_NE(found.answer, Answer::wrong) << seed << ": " << text_of(found);
      exact += found.answer == Answer::exact ? 1 : 0;
      open += found.answer == Answer::open ? 1 : 0;
    }
  }
  EXPECT_GT(exact, open);
}

}  // namespace
}  // namespace gputopo::test
