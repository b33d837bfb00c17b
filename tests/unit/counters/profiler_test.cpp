#include <gmock/gmock.h>

#include "fake_session.hpp"

namespace gputopo::counters {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Profiler = FakeSession;

TEST_F(Profiler, CountsEveryStretchByItself) {
  auto counter = open();
  ASSERT_TRUE(counter) << counter.error().message;
  EXPECT_EQ((*counter)->chip(), "GH100");
  ASSERT_TRUE((*counter)->start({"loads", "misses"}, 3));
  for (const double value : {100, 7, 0}) stretch(**counter, value);
  EXPECT_THAT((*counter)->stop().value(), ElementsAre(ElementsAre(100, 101), ElementsAre(7, 8), ElementsAre(0, 1)));
}

TEST_F(Profiler, CountsTheLaunchesOfAStretchTogetherAndNoOthers) {
  auto counter = open();
  ASSERT_TRUE(counter);
  launch(5);
  ASSERT_TRUE((*counter)->start({"loads"}, 3));
  EXPECT_THAT((*counter)->stop().value(), ElementsAre());
  ASSERT_TRUE((*counter)->start({"loads"}, 3));
  launch(1000);
  ASSERT_TRUE((*counter)->begin_stretch());
  launch(10);
  launch(20);
  ASSERT_TRUE((*counter)->end_stretch());
  launch(1000);
  stretch(**counter, 6);
  EXPECT_THAT((*counter)->stop().value(), ElementsAre(ElementsAre(30), ElementsAre(6)));
}

TEST_F(Profiler, StretchesOutsideOfStartAndStopAreAnError) {
  auto counter = open();
  ASSERT_TRUE(counter);
  const auto begun = (*counter)->begin_stretch();
  ASSERT_FALSE(begun);
  EXPECT_THAT(begun.error().message, HasSubstr("doesn't begin"));
  ASSERT_TRUE((*counter)->start({"a"}, 1));
  EXPECT_FALSE((*counter)->end_stretch());
}

TEST_F(Profiler, DecodesOtherMetricsToo) {
  auto counter = open();
  ASSERT_TRUE(counter);
  for (const Metrics& metrics : {Metrics{"a"}, Metrics{"b", "c"}, Metrics{"a"}}) {
    ASSERT_TRUE((*counter)->start(metrics, 1));
    stretch(**counter, 9);
    const auto values = (*counter)->stop();
    ASSERT_TRUE(values) << values.error().message;
    EXPECT_EQ(values->front().front(), 9);
    EXPECT_EQ(fake().enabled, 1);
  }
}

TEST_F(Profiler, KnowsPassesBeforehandAndRunsNothingTwice) {
  auto counter = open();
  ASSERT_TRUE(counter);
  EXPECT_EQ((*counter)->passes({"a", "b", "c"}).value(), 1U);
  EXPECT_EQ((*counter)->passes({"a", "b", "c", "d"}).value(), 2U);
  const auto started = (*counter)->start({"a", "b", "c", "d"}, 1);
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().kind, Error::Kind::bad_input);
  EXPECT_THAT(started.error().message, HasSubstr("take 2 passes on a GH100"));
  EXPECT_EQ(fake().starts, 0);
  fake().keeps_a_pass = true;
  ASSERT_TRUE((*counter)->start({"a"}, 1));
  EXPECT_EQ((*counter)->stop().error().kind, Error::Kind::device);
}

TEST_F(Profiler, NamesTheMetricThatTheChipLacks) {
  auto counter = open();
  ASSERT_TRUE(counter);
  const auto started = (*counter)->start({"a", "no_such_thing", "b"}, 1);
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().kind, Error::Kind::unavailable);
  EXPECT_THAT(started.error().message, HasSubstr("a GH100 has no counter 'no_such_thing'"));
}

TEST_F(Profiler, LostStretchesAreAnError) {
  auto counter = open();
  ASSERT_TRUE(counter);
  ASSERT_TRUE((*counter)->start({"a"}, 2));
  for (int i = 0; i < 3; ++i) stretch(**counter, 1);
  const auto values = (*counter)->stop();
  ASSERT_FALSE(values);
  EXPECT_EQ(values.error().kind, Error::Kind::device);
  EXPECT_THAT(values.error().message, HasSubstr("1 stretches were not counted"));
}

TEST_F(Profiler, StartAndStopAlternate) {
  auto counter = open();
  ASSERT_TRUE(counter);
  EXPECT_EQ((*counter)->stop().error().kind, Error::Kind::bad_input);
  ASSERT_TRUE((*counter)->start({"a"}, 1));
  EXPECT_EQ((*counter)->start({"a"}, 1).error().kind, Error::Kind::bad_input);
  EXPECT_TRUE((*counter)->stop());
}

TEST_F(Profiler, LeavesNothingBehind) {
  {
    auto counter = open();
    ASSERT_TRUE(counter);
    ASSERT_TRUE((*counter)->start({"a"}, 1));
    EXPECT_TRUE(fake().counting);
  }
  EXPECT_FALSE(fake().counting);
  EXPECT_EQ(fake().enabled, 0);
  EXPECT_EQ(fake().hosts, 0);
  EXPECT_EQ(fake().initialized, 0);
}

}  // namespace
}  // namespace gputopo::counters
