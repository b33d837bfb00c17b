// Sizes of caches that what fits alone gets wrong: uneven sets, other replacement, the kernel's own lines, tenants.
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

Json model_with(const char* path, const char* cache, Json description) {
  return {{"schema", "gputopo-model/1"},
          {"gpu", {{"name", "Sizes"}, {"sm_count", 4}, {"memory", "1 GiB"}, {"clock_khz", 1500000}}},
          {"caches",
           {{cache, std::move(description)},
            {"l2", {{"size", "1 MiB"}, {"line", 128}, {"sector", 32}, {"ways", 16}, {"scope", "gpu"}}}}},
          {"shared", {{"carve_outs", {"16 KiB"}}, {"latency", 25}}},
          {"paths",
           {{path,
             {{{"level", cache}, {"latency", 40}},
              {{"level", "l2"}, {"latency", 200}},
              {{"level", "device_memory"}, {"latency", 500}}}}}}};
}

Json constants_with(Json description) {
  Json model = model_with("constant", "constant_l1", std::move(description));
  model["paths"]["global_cached"] = {{{"level", "l2"}, {"latency", 200}},
                                     {{"level", "device_memory"}, {"latency", 500}}};
  return model;
}

Estimate size_of(const Json& model, const std::string& id) {
  auto parsed = sim::parse_model(model.dump(), "sizes");
  EXPECT_TRUE(parsed) << parsed.error().message;
  const auto device = sim::make_device(std::move(*parsed));
  experiments::DiscoverOptions options;
  options.only = {id};
  options.extras = false;
  const auto found = experiments::discover(*device, options);
  EXPECT_TRUE(found) << found.error().message;
  return *found->find(id)->find("size");
}

// Three of 75 lines find no place of their own: a footprint begins to miss before the cache is full.
TEST(Size, OfUnevenSetsIsWhatTheyHold) {
  const Estimate size =
      size_of(constants_with(
                  {{"size", 4800}, {"line", 64}, {"sets", 25}, {"ways", 3}, {"index", "xor"}, {"replacement", "fifo"}}),
              "constant_l1");
  EXPECT_EQ(size.status, Status::measured) << size.note;
  EXPECT_EQ(size.value, 4800);
  EXPECT_EQ(size.method, "residency");
}

TEST(Size, OfRandomReplacementHasTheTruthInItsInterval) {
  const Estimate size =
      size_of(constants_with({{"size", 4096}, {"line", 64}, {"sets", 4}, {"ways", 16}, {"replacement", "random"}}),
              "constant_l1");
  ASSERT_TRUE(size.has_value());
  EXPECT_LE(size.interval ? size.interval->low : *size.value, 4096);
  if (size.status == Status::measured) {
    EXPECT_GE(size.interval->high, 4096);
  }
}

// The kernel's own constants push a line of the only set out in every lap, whatever fits: the count alone tells.
TEST(Size, OfFewLinesReplacedAtRandomIsCountedToTheLine) {
  for (const char* replacement : {"random", "not_most_recent"}) {
    Json model =
        constants_with({{"size", 2816}, {"line", 128}, {"sets", 1}, {"ways", 22}, {"replacement", replacement}});
    model["background"] = {{"constants", 64}, {"constant_offset", 192}};
    const Estimate size = size_of(model, "constant_l1");
    EXPECT_EQ(size.status, Status::measured) << replacement << ": " << size.note;
    EXPECT_EQ(size.value, 2816) << replacement;
  }
}

TEST(Size, IsNotShortOfTheKernelsOwnLines) {
  for (const char* replacement : {"lru", "fifo"}) {
    Json model =
        constants_with({{"size", 2048}, {"line", 64}, {"sets", 1}, {"ways", 32}, {"replacement", replacement}});
    model["background"] = {{"constants", 256}, {"constant_offset", 192}};
    const Estimate size = size_of(model, "constant_l1");
    EXPECT_EQ(size.status, Status::measured) << replacement << size.note;
    EXPECT_EQ(size.value, 2048) << replacement;
  }
}

TEST(Size, IsABoundWhereATenantFillsTheCache) {
  Json model = model_with("global_cached", "l1", {{"size", "16 KiB"}, {"line", 128}, {"sector", 32}, {"ways", 4}});
  EXPECT_EQ(size_of(model, "l1").value, 16384);
  model["tenant"] = {{"l2_lines_per_us", 0}, {"sm_lines_per_us", 20}, {"slow_share", 0}, {"slow_cycles", {1, 1}}};
  const Estimate size = size_of(model, "l1");
  EXPECT_NE(size.status, Status::measured);
  if (size.has_value()) {
    EXPECT_LE(*size.value, 16384);
  }
}

}  // namespace
}  // namespace gputopo
