// The truth of models that lack something or have it twice.
#include <gmock/gmock.h>

#include "tests/unit/sim/walks.hpp"

namespace gputopo::sim {
namespace {

constexpr std::string_view partitioned = R"({
  "schema": "gputopo-model/1", "name": "p",
  "gpu": {"name": "P", "sm_count": 6, "memory": "8 GiB", "l2": "6 MiB"},
  "groups": {"gpc": [[0, 3, 4], [1, 2, 5]], "partition": {"interleaved": 2}},
  "caches": {
    "data": {"size": "64 KiB", "line": 128, "sector": 32, "reserved": "2 KiB"},
    "c1": {"size": "2 KiB", "line": 64, "instances": 2},
    "c2": {"size": "8 KiB", "line": 256, "scope": "gpc"},
    "c3": {"size": "32 KiB", "line": 256, "scope": "gpu"},
    "l2": {"size": "6 MiB", "line": 128, "sets": 8, "scope": "gpu", "partitions": {"count": 2, "mode": "near_copy"}}
  },
  "shared": {"carved_from": "data", "carve_outs": ["8 KiB", "16 KiB", "48 KiB"], "latency": 25},
  "paths": {
    "global_cached": [{"level": "l2", "latency": 200, "far_latency": 320}, {"level": "device_memory", "latency": 600}],
    "texture": [{"level": "data", "latency": 80}, {"level": "l2", "latency": 230}, {"level": "device_memory", "latency": 600}],
    "read_only": [{"level": "data", "latency": 40}, {"level": "l2", "latency": 230}, {"level": "device_memory", "latency": 600}],
    "constant": [{"level": "c1", "latency": 10}, {"level": "c2", "latency": 90}, {"level": "c3", "latency": 150},
                 {"level": "l2", "latency": 240}, {"level": "device_memory", "latency": 610}]
  }
})";

double value(const Topology& t, std::string_view id, std::string_view attribute) {
  const Estimate* e = t.find(id)->find(attribute);
  return e == nullptr ? -1 : e->value.value_or(-2);
}

TEST(Truth, L1IsNotSupportedWhereGlobalLoadsBeginAtTheL2) {
  const Topology t = truth(model_of(partitioned));
  for (const char* attribute : {"size", "line_size", "sector_size", "latency", "miss_penalty"})
    EXPECT_EQ(t.find("l1")->find(attribute)->status, Status::not_supported);
  EXPECT_EQ(value(t, "texture", "size"), (64 - 2 - 8) << 10);
  EXPECT_EQ(t.find("texture")->physical_cache, "texture");
  EXPECT_EQ(t.find("read_only")->physical_cache, "texture") << "named after the first id on the cache";
}

TEST(Truth, LatencyAndPenaltyAreThoseOfTheIdsOwnPath) {
  const Topology t = truth(model_of(partitioned));
  EXPECT_EQ(value(t, "texture", "latency"), 80);
  EXPECT_EQ(value(t, "texture", "miss_penalty"), 150);
  EXPECT_EQ(value(t, "read_only", "miss_penalty"), 190);
  EXPECT_EQ(value(t, "constant_l1_5", "miss_penalty"), 60);
  EXPECT_EQ(value(t, "l2", "miss_penalty"), 400);
  EXPECT_EQ(value(t, "device_memory", "latency"), 600);
}

TEST(Truth, ScopesInstancesAndParents) {
  const Topology t = truth(model_of(partitioned));
  EXPECT_EQ(t.find("constant_l1")->instances_per_scope, 2U);
  EXPECT_EQ(t.find("constant_l1")->parent, "constant_l1_5");
  EXPECT_EQ(t.find("constant_l1_5")->scope, Scope::gpc);
  EXPECT_EQ(t.find("constant_l1_5")->sm_groups, (std::vector<std::vector<std::uint32_t>>{{0, 3, 4}, {1, 2, 5}}));
  EXPECT_EQ(t.find("constant_l1_5")->parent, "l2") << "the third constant level has no id of its own";
  EXPECT_EQ(t.find("l2")->parent, "device_memory");
  EXPECT_EQ(t.sm_places.size(), 6U);
  EXPECT_EQ(t.sm_places[4].gpc, 0U);
  EXPECT_EQ(t.sm_places[4].l2_partition, 0U);
  EXPECT_FALSE(t.sm_places[4].tpc);
}

TEST(Truth, PartitionsAndCarveOuts) {
  const Topology t = truth(model_of(partitioned));
  EXPECT_EQ(value(t, "l2", "size"), 6 << 20);
  EXPECT_EQ(value(t, "l2", "partitions"), 2);
  EXPECT_EQ(value(t, "l2", "partition_size"), 3 << 20);
  EXPECT_EQ(value(t, "l2", "far_latency"), 320);
  const auto& table = t.find("texture")->carve_outs;
  ASSERT_EQ(table.size(), 3U);
  EXPECT_EQ(table[0].requested_percent, 0U);
  EXPECT_EQ(table[1].requested_percent, 33U) << "16 of 48 KiB, rounded down";
  EXPECT_EQ(table[2].requested_percent, 100U);
  EXPECT_EQ(*table[2].usable_bytes.value, (64 - 2 - 48) << 10);
  EXPECT_EQ(*table[2].reserved_bytes.value, 2048);
}

TEST(Truth, Gt200HasNeitherL1NorL2) {
  const Topology t = truth(*builtin_model("gt200"));
  for (const char* id : {"l1", "texture", "read_only", "l2"})
    EXPECT_EQ(t.find(id)->find("size")->status, Status::not_supported) << id;
  EXPECT_EQ(value(t, "constant_l1_5", "size"), 8192);
  EXPECT_EQ(t.find("constant_l1_5")->scope, Scope::tpc);
  EXPECT_EQ(t.find("constant_l1_5")->parent, "device_memory");
  EXPECT_EQ(value(t, "device_memory", "latency"), 441);
}

TEST(CarveOut, IsTheSmallestThatCoversRequestAndNeed) {
  SharedModel s;
  s.carve_outs_bytes = {8 << 10, 16 << 10, 32 << 10, 64 << 10, 100 << 10, 132 << 10, 164 << 10, 196 << 10, 228 << 10};
  // The H200's: percent asked and KiB in force.
  for (const auto& [percent, kib] : {std::pair{0U, 8U},
                                     {4U, 16U},
                                     {8U, 32U},
                                     {14U, 32U},
                                     {25U, 64U},
                                     {44U, 132U},
                                     {58U, 164U},
                                     {72U, 196U},
                                     {86U, 228U},
                                     {100U, 228U}})
    EXPECT_EQ(carve_out_bytes(s, percent, 0), std::uint64_t{kib} << 10) << percent;
  EXPECT_EQ(carve_out_bytes(s, 0, 9 << 10), 16U << 10);
}

}  // namespace
}  // namespace gputopo::sim
