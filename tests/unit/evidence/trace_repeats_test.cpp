#include "evidence/traces/trace_repeats.hpp"

#include <gtest/gtest.h>

#include "change_point/random.hpp"
#include "evidence/traces/traces.hpp"

namespace gputopo::evidence {
namespace {

using namespace change_point;

/// Footprints of 4 to 64 KiB up and down again, 64 loads each, that take `rise` cycles more by the last row in time,
/// and `penalty` more beyond 32 KiB.
Trace up_and_down(double rise, double penalty) {
  Random random(7);
  Trace trace;
  for (int row = 0; row < 32; ++row) {
    const double kib = 4 * (row < 16 ? row + 1 : 32 - row);
    Row& to = trace.rows.emplace_back();
    to.control = kib * 1024;
    for (int load = 0; load < 64; ++load)
      to.values.push_back(50 + rise * row / 31 + (kib > 32 ? penalty : 0) + 2 * random.uniform());
  }
  return trace;
}

TEST(RepeatsOfASize, TellADriftFromASize) {
  for (const double rise : {2.0, 5.0, 20.0}) {
    EXPECT_TRUE(do_repeats_differ_as_sizes_do(up_and_down(rise, 0))) << rise;
    const Estimate size = find_size(up_and_down(rise, 0));
    EXPECT_TRUE(size.status == Status::inconclusive || size.status == Status::lower_bound) << rise;
  }
}

TEST(RepeatsOfASize, LeaveASizeThatChangesMore) {
  for (const double rise : {0.0, 5.0, 20.0}) {
    EXPECT_FALSE(do_repeats_differ_as_sizes_do(up_and_down(rise, 150))) << rise;
    EXPECT_EQ(find_size(up_and_down(rise, 150)).value, 32 * 1024) << rise;
  }
}

TEST(RepeatsOfASize, AreNoneWhereEachHasOneRow) {
  Trace once = up_and_down(20, 0);
  once.rows.resize(16);
  EXPECT_FALSE(do_repeats_differ_as_sizes_do(once));
}

}  // namespace
}  // namespace gputopo::evidence
