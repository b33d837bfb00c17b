// What is said where another process takes turns, which leaves no time for memory, and a client empties a small L2.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "device/sim/model.hpp"
#include "device/sim/sim_device.hpp"
#include "experiments/discover.hpp"

namespace gputopo {
namespace {

using Json = nlohmann::json;

// A second load finds in the L2 what the first one brought from memory, as it would in an L1.
TEST(TenantBetweenTurns, LeavesNoL1ThatIsAsSlowAsLoadsPastIt) {
  const Json path = {{{"level", "l2"}, {"latency", 185}}, {{"level", "device_memory"}, {"latency", 342}}};
  const Json model = {
      {"schema", "gputopo-model/1"},
      {"gpu", {{"name", "Turns"}, {"sm_count", 6}, {"memory", "1 GiB"}, {"clock_khz", 700000}}},
      {"caches", {{"l2", {{"size", "128 KiB"}, {"line", 128}, {"ways", 16}, {"scope", "gpu"}}}}},
      {"paths", {{"global_cached", path}, {"global_l2_only", path}}},
      {"neighbour", {{"slice_us", {1000, 3000}}, {"away_us", {640, 2600}}, {"l2_share", 1}}},
      {"tenant", {{"l2_lines_per_us", 40}, {"sm_lines_per_us", 0}, {"slow_share", 0.3}, {"slow_cycles", {5, 60}}}}};
  auto parsed = sim::parse_model(model.dump(), "turns");
  ASSERT_TRUE(parsed) << parsed.error().message;
  const auto device = sim::make_device(std::move(*parsed));
  experiments::DiscoverOptions options;
  options.only = {"l1"};
  options.extras = false;
  const auto found = experiments::discover(*device, options);
  ASSERT_TRUE(found) << found.error().message;
  for (const auto& [name, estimate] : found->find("l1")->attributes)
    EXPECT_FALSE(estimate.has_value()) << name << " " << *estimate.value;
}

}  // namespace
}  // namespace gputopo
