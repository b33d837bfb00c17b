#include "device/cuda/placement_patience.hpp"

#include <gtest/gtest.h>

namespace gputopo::device::cuda {
namespace {

using namespace std::chrono_literals;
using Attempt = PlacementPatience::Attempt;

TEST(PlacementPatience, AllowsEverythingWhereNothingWasInVain) {
  const PlacementPatience patience;
  for (const Attempt attempt : {Attempt::first, Attempt::first_of_a_rendezvous, Attempt::again})
    EXPECT_TRUE(patience.allows(attempt, 0s));
}

TEST(PlacementPatience, EndsSoonerForWhatWasTriedThanForWhatWasNot) {
  PlacementPatience patience;
  patience.add_in_vain(1500ms);
  EXPECT_FALSE(patience.allows(Attempt::again, 0s));
  EXPECT_TRUE(patience.allows(Attempt::first_of_a_rendezvous, 0s));
  patience.add_in_vain(1000ms);
  EXPECT_FALSE(patience.allows(Attempt::first_of_a_rendezvous, 0s));
  EXPECT_TRUE(patience.allows(Attempt::first, 0s)) << "whatever was in vain";
}

TEST(PlacementPatience, ComesBackWithTime) {
  PlacementPatience patience;
  patience.add_in_vain(2600ms);
  EXPECT_FALSE(patience.allows(Attempt::first_of_a_rendezvous, 1s));
  EXPECT_TRUE(patience.allows(Attempt::first_of_a_rendezvous, 2s));
  EXPECT_FALSE(patience.allows(Attempt::again, 29s));
  EXPECT_TRUE(patience.allows(Attempt::again, 30s));
}

}  // namespace
}  // namespace gputopo::device::cuda
