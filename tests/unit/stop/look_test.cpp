// That what takes long looks at the user's wish to stop.
#include <gtest/gtest.h>

#include "device/sim/model.hpp"
#include "device/sim/sim_device.hpp"
#include "evidence/traces/traces.hpp"
#include "stop/stop.hpp"

namespace gputopo {
namespace {

class Stopped : public ::testing::Test {
 protected:
  void SetUp() override { stop::requested = true; }
  void TearDown() override { stop::requested = false; }
};

change_point::Trace step() {
  change_point::Trace trace;
  for (int row = 1; row <= 20; ++row)
    trace.rows.push_back({64.0 * row, {40, 41, row > 10 ? 240.0 : 42.0, row > 12 ? 241.0 : 40.0}});
  return trace;
}

TEST_F(Stopped, StatisticsEnd) {
  EXPECT_THROW(evidence::find_size(step()), stop::Interrupted);
  evidence::TraceOptions thesis;
  thesis.method = evidence::TraceOptions::Method::thesis;
  EXPECT_THROW(evidence::find_size(step(), thesis), stop::Interrupted);
  EXPECT_THROW(evidence::find_fetch_granularity(step()), stop::Interrupted);
  const std::vector<change_point::StrideSweep> sweeps{{32, step()}, {64, step()}};
  EXPECT_THROW(evidence::find_line_size(sweeps), stop::Interrupted);
}

TEST_F(Stopped, ASimulationEnds) {
  const auto gpu = sim::make_device(*sim::builtin_model("gt200"));
  EXPECT_THROW(static_cast<void>(gpu->run({program::Program{}})), stop::Interrupted);
}

TEST(NotStopped, NothingIsThrown) {
  EXPECT_NO_THROW(stop::look());
}

}  // namespace
}  // namespace gputopo
