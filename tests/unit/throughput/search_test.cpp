// Which of several streams is the best, on a device whose rates are made up.
#include "throughput/search.hpp"

#include <gtest/gtest.h>

namespace gputopo::throughput {
namespace {

using program::Stream;

// Streams of 64 threads move a byte a nanosecond, all others two of them in every fourth run and half a one else. What
// goes on for longer than two and a half milliseconds takes half as long again.
class Unsteady : public device::Device {
 public:
  Unsteady() { info_.gpu.sm_count = 1; }
  const device::DeviceInfo& info() const override { return info_; }
  Expected<std::vector<program::ProgramTrace>> run(const program::Batch&) override {
    return fail(Error::Kind::device, "unused");
  }
  Expected<program::StreamTrace> run_stream(const Stream& s) override {
    const std::uint64_t bytes = program::counted_bytes(s);
    const std::uint64_t ns = s.threads == 64 ? bytes : runs_++ % 4 == 0 ? bytes / 2 : bytes * 2;
    const std::uint64_t taken = ns > 2'500'000 ? ns + ns / 2 : ns;
    return program::StreamTrace{bytes, program::counted_accesses(s), taken, taken, 1};
  }

 private:
  device::DeviceInfo info_;
  int runs_ = 0;
};

Stream steady_stream() {
  Stream steady;
  steady.access_bytes = 4;
  steady.threads = 64;
  steady.blocks = 1;
  steady.items = steady.unroll = 1;
  steady.footprint_bytes = 1 << 20;
  return steady;
}

TEST(SearchBest, RangesUpToWhatAnyFinalistReached) {
  const Stream steady = steady_stream();
  Stream other = steady;
  other.threads = 128;
  Unsteady device;
  Meter meter(device, nullptr);
  std::string why;
  const auto best = search_best(meter, {steady, other}, Rate::bytes_per_second, why, Effort::full);
  ASSERT_TRUE(best) << best.error().message;
  ASSERT_TRUE(*best) << why;
  EXPECT_EQ((**best).stream.threads, 64U) << "the other one is slower most of the time";
  EXPECT_DOUBLE_EQ((**best).sample.median, 1e9);
  EXPECT_DOUBLE_EQ((**best).sample.range.low, 1e9);
  EXPECT_DOUBLE_EQ((**best).sample.range.high, 2e9);
}

TEST(SearchBest, RangesUpToWhatShortRunsReached) {
  Stream stream = steady_stream();
  stream.laps = 2;  // so that it is measured over more of them
  Unsteady device;
  Meter meter(device, nullptr);
  std::string why;
  const auto best = search_best(meter, {stream}, Rate::bytes_per_second, why, Effort::full);
  ASSERT_TRUE(best) << best.error().message;
  ASSERT_TRUE(*best) << why;
  EXPECT_NEAR((**best).sample.median, 1e9 / 1.5, 1) << "what it keeps up";
  EXPECT_DOUBLE_EQ((**best).sample.range.high, 1e9);
  const auto brief = search_best(meter, {stream}, Rate::bytes_per_second, why, Effort::brief);
  ASSERT_TRUE(brief && *brief);
  EXPECT_DOUBLE_EQ((**brief).sample.range.high, (**brief).sample.range.low) << "its runs alone";
}

// Faster in each place than in the one before; the memory ends behind the fourth.
class Uneven : public Unsteady {
 public:
  Expected<program::StreamTrace> run_stream(const Stream& s) override {
    const std::uint64_t bytes = program::counted_bytes(s), place = s.first_byte / program::buffer_bytes(s);
    if (s.first_byte % (2 << 20) != 0 || place > 3) return fail(Error::Kind::unavailable, "no room");
    const std::uint64_t ns = bytes * 4 / (4 + place);
    return program::StreamTrace{bytes, program::counted_accesses(s), ns, ns, 1};
  }
};

TEST(OverPlaces, IsWhatHalfOfThePlacesGiveAndRangesOverAll) {
  Stream stream = steady_stream();
  stream.footprint_bytes = 2 << 20;
  Uneven device;
  Meter meter(device, nullptr);
  const auto one = meter.measure(stream, Rate::bytes_per_second);
  ASSERT_TRUE(one) << one.error().message;
  const auto all = over_places(meter, Best{stream, *one, 1, {}}, Rate::bytes_per_second, 3);
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_NEAR(all->median, 1.25e9, 1e4);
  EXPECT_NEAR(all->range.low, 1e9, 1e4);
  EXPECT_NEAR(all->range.high, 1.5e9, 1e4);
  const auto no_more = over_places(meter, Best{stream, *one, 1, {}}, Rate::bytes_per_second, 9);
  ASSERT_TRUE(no_more) << no_more.error().message;
  EXPECT_NEAR(no_more->range.high, 1.75e9, 1e4) << "four places have room";
}

}  // namespace
}  // namespace gputopo::throughput
