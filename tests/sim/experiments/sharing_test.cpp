// Which caches are one, on GPUs whose wiring is known.
#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "device/sim/builtin.hpp"
#include "device/sim/model.hpp"
#include "device/sim/sim_device.hpp"
#include "experiments/discover.hpp"

namespace gputopo {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson v100_text() {
  const auto names = sim::builtin_models();
  const auto at = std::find(names.begin(), names.end(), "v100") - names.begin();
  return OrderedJson::parse(sim::builtin_model_texts()[static_cast<std::size_t>(at)]);
}

Topology discovered_sharing(const OrderedJson& json) {
  auto model = sim::parse_model(json.dump(), "test");
  EXPECT_TRUE(model) << model.error().message;
  const auto device = sim::make_device(std::move(*model));
  auto found = experiments::discover(*device, {});
  EXPECT_TRUE(found) << found.error().message;
  return std::move(*found);
}

const SharingCheck* find(const Topology& t, std::string_view first, std::string_view second) {
  const auto it = std::find_if(t.sharing.begin(), t.sharing.end(),
                               [&](const SharingCheck& c) { return c.first == first && c.second == second; });
  return it == t.sharing.end() ? nullptr : &*it;
}

std::vector<std::string> verdicts(const SharingCheck* check) {
  if (check == nullptr) return {"not tested"};
  std::vector<std::string> all{check->verdict};
  for (const SharingTest& t : check->tests) all.push_back(t.method + ": " + t.verdict);
  return all;
}

using Verdicts = std::vector<std::string>;

TEST(SharingOfV100, IsFoundByEvictionBothWays) {
  const Topology found = discovered_sharing(v100_text());
  EXPECT_EQ(verdicts(find(found, "l1", "texture")), (Verdicts{"same", "eviction: same", "eviction: same"}));
  EXPECT_EQ(verdicts(find(found, "l1", "read_only")), (Verdicts{"same", "eviction: same", "eviction: same"}));
  EXPECT_EQ(verdicts(find(found, "l1", "constant_l1")), (Verdicts{"apart", "eviction: apart"}));
  EXPECT_EQ(verdicts(find(found, "constant_l1_5", "instruction")), (Verdicts{"same", "eviction: same"}));
}

TEST(SharingOfV100, IsApartWhereCodeHasACacheOfItsOwn) {
  OrderedJson model = v100_text();
  model["caches"]["instruction_l1_5"] = model["caches"]["constant_l1_5"];
  model["paths"]["instruction"][1]["level"] = "instruction_l1_5";
  const Topology found = discovered_sharing(model);
  EXPECT_EQ(verdicts(find(found, "constant_l1_5", "instruction")), (Verdicts{"apart", "eviction: apart"}));
}

TEST(SharingOfV100, IsApartWhereTextureHasACacheOfItsOwn) {
  OrderedJson model = v100_text();
  model["caches"]["texture"] = {{"size", "24 KiB"}, {"line", 128}, {"sector", 32}, {"sets", 4}};
  model["paths"]["texture"][0] = {{"level", "texture"}, {"latency", 80}};
  const Topology found = discovered_sharing(model);
  EXPECT_EQ(verdicts(find(found, "l1", "texture")), (Verdicts{"apart", "eviction: apart"}));
  EXPECT_EQ(found.find("texture")->physical_cache, "texture");
  EXPECT_EQ(found.find("texture")->find("size")->value, 24 * 1024);
}

// One warp, or two of which each has an instance of its own, say nothing of how many an SM has.
TEST(Instances, OfFewWarpsAreLeftOpen) {
  for (const int warps : {1, 2}) {
    OrderedJson json = v100_text();
    json["limits"]["warps_per_block"] = warps;
    const Topology found = discovered_sharing(json);
    EXPECT_EQ(found.find("l1")->structure.at("instances_per_scope").status, Status::inconclusive) << warps;
    EXPECT_FALSE(found.find("l1")->instances_per_scope.has_value()) << warps;
  }
}

// Nothing tells an L2 of one SM from one of the GPU, nor a texture cache from its absence where few texels can be
// loaded.
TEST(OneSm, LeavesOpenWhatNothingCanBeAskedOf) {
  const OrderedJson beyond = {{{"level", "l2"}, {"latency", 200}}, {{"level", "device_memory"}, {"latency", 450}}};
  OrderedJson model = {{"schema", "gputopo-model/1"},
                       {"gpu", {{"name", "One"}, {"sm_count", 1}, {"memory", "1 GiB"}}},
                       {"caches", {{"l2", {{"size", "256 KiB"}, {"line", 128}, {"ways", 16}, {"scope", "gpu"}}}}},
                       {"limits", {{"texture_elements", 65536}}},
                       {"paths", {{"global_cached", beyond}, {"texture", beyond}}}};
  const Topology found = discovered_sharing(model);
  EXPECT_EQ(found.find("l2")->structure.at("scope").status, Status::inconclusive);
  EXPECT_FALSE(found.find("l2")->scope);
  const Estimate& texture = *found.find("texture")->find("size");
  EXPECT_EQ(texture.status, Status::inconclusive);
  EXPECT_NE(texture.note.find("65536 elements"), std::string::npos) << texture.note;
}

}  // namespace
}  // namespace gputopo
