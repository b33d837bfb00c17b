// Loads of anybody's trace told apart into levels.
#include "evidence/traces/trace_levels.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "change_point/random.hpp"
#include "evidence/traces/traces.hpp"

namespace gputopo::evidence {
namespace {

using namespace change_point;

TEST(Separations, LeaveOutWhatOnlyTheClockMakes) {
  // A clock that counts in fours: hits at 48 and 52, misses at 200 and 204.
  Trace trace;
  for (int row = 1; row <= 20; ++row) {
    Row& next = trace.rows.emplace_back();
    next.control = row * 1024;
    for (int load = 0; load < 60; ++load) {
      next.values.push_back((row > 12 && load < 5 * (row - 12) ? 200 : 48) + 4 * ((load + row) % 2));
    }
  }
  const auto candidates = separations(trace);
  ASSERT_EQ(candidates.size(), 1U);
  EXPECT_EQ(candidates[0].boundary.threshold_cycles, 200);
  EXPECT_EQ(candidates[0].rows[11].sum, 0);
  EXPECT_EQ(candidates[0].rows[12].sum, 5);
}

// Hits of 30 cycles and misses of 64 read 0 or 64 by a clock that counts in 64: by which doesn't say of which level a
// load is, so that rows that fit aren't ones that miss.
TEST(SizeByACoarseClock, IsNoBoundOfHitsThatReadAsATick) {
  for (const std::uint64_t seed : {1, 2, 3, 4, 5, 6}) {
    Random random(seed);
    Trace trace;
    for (int row = 0; row < 30; ++row) {
      Row& next = trace.rows.emplace_back(Row{64.0 * (128 + 4 * row), {}});
      const double share = row < 15 ? 0 : 1;
      for (int load = 0; load < 128 + 4 * row; ++load)
        next.values.push_back(64 * std::floor(random.uniform() + (random.uniform() < share ? 64 : 30) / 64.0));
    }
    const Estimate said = find_size(trace);
    EXPECT_NE(said.status, Status::upper_bound) << seed;
    EXPECT_NE(said.status, Status::lower_bound) << seed;
  }
}

}  // namespace
}  // namespace gputopo::evidence
