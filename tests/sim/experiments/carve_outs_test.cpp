// What an array that L1 and shared memory lie in keeps from both: known where its size is, and else by nothing.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "device/sim/model.hpp"
#include "device/sim/sim_device.hpp"
#include "experiments/discover.hpp"

namespace gputopo {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

std::vector<CarveOut> carve_outs_of(std::uint64_t array_kib, std::uint64_t reserved_kib, const char* capability,
                                    std::uint64_t largest_kib = 16) {
  Json model = {
      {"schema", "gputopo-model/1"},
      {"gpu", {{"name", "Carved"}, {"sm_count", 2}, {"memory", "4 GiB"}}},
      {"caches",
       {{"l1", {{"size", array_kib << 10}, {"line", 128}, {"ways", array_kib / 8}, {"reserved", reserved_kib << 10}}},
        {"l2", {{"size", 262144}, {"line", 128}, {"ways", 16}, {"scope", "gpu"}}}}},
      {"shared", {{"carve_outs", {8192, largest_kib << 10}}, {"carved_from", "l1"}, {"latency", 20}}},
      {"paths",
       {{"global_cached",
         {{{"level", "l1"}, {"latency", 30}},
          {{"level", "l2"}, {"latency", 200}},
          {{"level", "device_memory"}, {"latency", 500}}}},
        {"global_no_allocate", true}}}};
  if (*capability != 0) model["gpu"]["compute_capability"] = capability;
  auto parsed = sim::parse_model(model.dump(), "carved");
  EXPECT_TRUE(parsed) << parsed.error().message;
  const auto device = sim::make_device(std::move(*parsed));
  experiments::DiscoverOptions options;
  options.only = {"l1", "shared"};
  const auto found = experiments::discover(*device, options);
  EXPECT_TRUE(found) << found.error().message;
  return found->find("l1")->carve_outs;
}

// An array of 48 KiB of which nothing is reserved looks like one of 64 KiB less 16 KiB.
TEST(CarveOuts, AnArrayIsNotRoundedUp) {
  for (const auto& [array, reserved] : {std::pair{48, 0}, std::pair{56, 2}, std::pair{64, 2}}) {
    const auto table = carve_outs_of(array, reserved, "");
    ASSERT_EQ(table.size(), 2U);
    for (const CarveOut& row : table) {
      EXPECT_EQ(*row.shared_bytes.value + *row.usable_bytes.value, (array - reserved) << 10);
      EXPECT_EQ(row.reserved_bytes.status, Status::inconclusive);
      EXPECT_THAT(row.reserved_bytes.note, HasSubstr("what the array has beyond that"));
    }
  }
}

TEST(CarveOuts, OfAPublishedArrayTheRestIsReserved) {
  for (const CarveOut& row : carve_outs_of(96, 2, "7.5", 64)) {
    EXPECT_EQ(row.reserved_bytes.status, Status::measured);
    EXPECT_EQ(*row.reserved_bytes.value, 2048);
    EXPECT_THAT(row.reserved_bytes.note, HasSubstr("compute capability 7.5"));
  }
}

// It isn't the published one, then.
TEST(CarveOuts, AnSmUnlikeThePublishedOneLeavesTheRestOpen) {
  for (const auto& table : {carve_outs_of(112, 2, "7.5", 64), carve_outs_of(96, 2, "7.5")}) {
    ASSERT_EQ(table.size(), 2U);
    for (const CarveOut& row : table) EXPECT_EQ(row.reserved_bytes.status, Status::inconclusive);
  }
}

}  // namespace
}  // namespace gputopo
