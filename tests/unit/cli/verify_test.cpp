#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/counters.hpp"
#include "process_run.hpp"
#include "topology/json.hpp"

namespace gputopo::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(Verify, WithoutARealGpuItSaysSoInOneLine) {
  for (const char* device : {"sim:h200", "cuda:4000"}) {
    const Outcome o = run_gputopo({"verify", "--device", device});
    EXPECT_EQ(o.exit_code, 1) << device;
    EXPECT_TRUE(is_one_error_line(o.err)) << o.err;
    EXPECT_EQ(o.out, "");
  }
  EXPECT_THAT(run_gputopo({"verify", "--device", "sim:h200"}).err, HasSubstr("has no hardware counters"));
  EXPECT_EQ(run_gputopo({"verify", "--device", "gpu0"}).exit_code, 2);
}

TEST(Verify, DiscoverWorksAsEverWithoutCounters) {
  const std::vector<std::string> options{"discover", "--device", "sim:840m", "--only",
                                         "l1",       "--format", "json",     "--quiet"};
  auto verified = options;
  verified.emplace_back("--verify");
  const Outcome plain = run_gputopo(options);
  const Outcome o = run_gputopo(verified);
  EXPECT_EQ(o.exit_code, plain.exit_code);
  EXPECT_TRUE(is_one_error_line(o.err)) << o.err;
  const auto expected = parse_topology(plain.out);
  const auto topology = parse_topology(o.out);
  ASSERT_TRUE(expected && topology);
  EXPECT_EQ(topology->memories, expected->memories);
  EXPECT_THAT(topology->crosscheck, SizeIs(0));
  EXPECT_THAT(topology->provenance.notes, ::testing::Contains(HasSubstr("not checked against counters: a simulated")));
}

TEST(Verify, MissesAndLoadsOfAFootprintShareARow) {
  const auto rows = checked_footprints({{"l1", "m", 1024, 96, 8, 8, "equal", 0},
                                        {"l1", "loads: n", 1024, 96, 96, 95, "differs", 0},
                                        {"l1", "m", 1024, 96, 8, 8, "equal", 50},
                                        {"l1", "loads: n", 1024, 96, 96, 96, "equal", 50},
                                        {"l1", "loads: n", 2048, 128, 128, 128, "equal", 0},
                                        {"l1", "change point: m", 1024, 96, 1024, 1024, "equal", 0}});
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_EQ(rows[0].verdict, "differs");
  EXPECT_EQ(rows[0].by_counter, 8);
  EXPECT_EQ(rows[0].loads_issued, 95);
  EXPECT_EQ(rows[1].carve_out_percent, 50U);
  EXPECT_EQ(rows[1].verdict, "equal");
  EXPECT_EQ(rows[2].size_bytes, 2048U);
  EXPECT_FALSE(rows[2].by_timing);
}

}  // namespace
}  // namespace gputopo::cli
