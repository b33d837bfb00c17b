// A constant L1.5 behind L1s that were once in the way of it.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "device/sim/model.hpp"
#include "device/sim/sim_device.hpp"
#include "experiments/discover.hpp"

namespace gputopo {
namespace {

using Json = nlohmann::json;

Memory l1_5_behind(const Json& l1, bool is_there) {
  Json constants = {{{"level", "constant_l1"}, {"latency", 90}},
                    {{"level", "l2"}, {"latency", 172}},
                    {{"level", "device_memory"}, {"latency", 290}}};
  if (is_there) constants.insert(constants.begin() + 1, Json{{"level", "constant_l1_5"}, {"latency", 136}});
  const Json global = {{{"level", "l2"}, {"latency", 180}}, {{"level", "device_memory"}, {"latency", 300}}};
  Json caches = {{"constant_l1", l1}, {"l2", {{"size", "1 MiB"}, {"line", 128}, {"ways", 16}, {"scope", "gpu"}}}};
  if (is_there) caches["constant_l1_5"] = {{"size", 6144}, {"line", 256}, {"ways", 3}};
  const Json model{{"schema", "gputopo-model/1"},
                   {"gpu", {{"name", "Constants"}, {"sm_count", 4}, {"memory", "1 GiB"}, {"clock_khz", 1500000}}},
                   {"caches", caches},
                   {"paths", {{"constant", constants}, {"global_cached", global}, {"global_l2_only", global}}}};
  auto parsed = sim::parse_model(model.dump(), "constants");
  EXPECT_TRUE(parsed) << parsed.error().message;
  const auto device = sim::make_device(std::move(*parsed));
  experiments::DiscoverOptions options;
  options.only = {"constant_l1_5"};
  options.extras = false;
  const auto found = experiments::discover(*device, options);
  EXPECT_TRUE(found) << found.error().message;
  return *found->find("constant_l1_5");
}

// It has any of a circle's lines most of the time, so that the most of the looks at each are its own hits.
TEST(ConstantL15, IsToldBehindAnL1ThatReplacesAtRandom) {
  const Json l1 = {{"size", 1216}, {"line", 32}, {"ways", 19}, {"replacement", "random"}};
  const Memory found = l1_5_behind(l1, true);
  ASSERT_NE(found.find("size"), nullptr);
  EXPECT_EQ(found.find("size")->status, Status::measured) << found.find("size")->note;
  EXPECT_EQ(found.find("size")->value, 6144);
  EXPECT_EQ(l1_5_behind(l1, false).find("size")->status, Status::not_supported);
}

}  // namespace
}  // namespace gputopo
