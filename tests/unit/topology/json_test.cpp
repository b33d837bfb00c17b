#include "topology/json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace gputopo {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

Topology example_topology() {
  Topology t;
  t.provenance = {"gputopo",
                  "0.1.0",
                  "2026-01-02T03:04:05Z",
                  "cuda",
                  false,
                  "580.1",
                  7,
                  "default",
                  0.875,
                  {{"context", 0.34}, {"l1", 0.05}},
                  {"the clock was throttled"},
                  Interruptions{12, 34.5, 210, 5, 1},
                  "another process computed on the GPU",
                  "machine_code"};
  t.gpu = {"NVIDIA Test", "GPU-1", "0000:3b:00.0", "9.0", 132,
           1980000,       1965000, 3201000,        6144,  {128, 32, 1024, 2048, 32, 49152, 65536}};
  Memory l1;
  l1.id = "l1";
  l1.label = "L1 data cache";
  l1.parent = "l2";
  l1.physical_cache = "l1";
  l1.scope = Scope::group;
  l1.instances_per_scope = 1;
  l1.structure["scope"] = {"group", Status::measured, "eviction", 0.99, 4096, "of two SMs each"};
  l1.structure["physical_cache"] = {"l1", Status::measured, "residency", std::nullopt, 92544, {}};
  l1.structure["code"] = {{}, Status::inconclusive, "code_eviction", std::nullopt, 0, "there is too little code"};
  l1.attributes["size"] = {246656, "B", Status::measured, "residency", Interval{246528, 246784}, 0.99, 7708, {}};
  l1.attributes["latency"] = {37.625, "cycles", Status::measured, "lap", Interval{37.5, 37.75}, 1.0, 4096, {}};
  l1.attributes["latency"].interval_kind = "quartiles";
  l1.attributes["read_bandwidth"] = {std::nullopt, "B/s", Status::not_supported, {}, std::nullopt, std::nullopt, 0, {}};
  l1.carve_outs = {{25, l1.attributes["size"], l1.attributes["size"], l1.attributes["read_bandwidth"]}};
  Memory memory;
  memory.id = "device_memory";
  memory.kind = Kind::memory;
  memory.scope = Scope::gpu;
  memory.instances_per_scope = 2;
  memory.sm_groups = {{0, 1}, {2, 131}};
  memory.attributes["size"] = {150754820096.0, "B", Status::api, "driver", std::nullopt, std::nullopt, 0, "a \"note\""};
  memory.created = "2025-12-24T18:00:00Z";
  t.earlier_runs = {t.provenance};
  t.earlier_runs[0].created = memory.created;
  t.earlier_runs[0].shared_gpu = "two others computed";
  t.memories = {l1, memory};
  t.crosscheck = {{"l1", "l1tex__t_sectors", 262144, 16384, 15984, 15984, "equal"}};
  t.sharing = {{"l1", "texture", "same", {{"eviction", "same", 1, 1285}, {"residency", "same", 0.96875, 92544}}},
               {"constant_l1_5", "instruction", "inconclusive", {}}};
  t.sm_places = {{0, 0, 1, 2, 3}, {1, 0, std::nullopt, 2, std::nullopt}};
  return t;
}

// The example's text with one member replaced (or removed, by a discarded value), as if written by hand.
std::string with(const std::string& pointer, const Json& value) {
  Json j = to_json(example_topology());
  j.erase("checksum");
  const Json::json_pointer at(pointer);
  if (value.is_discarded())
    j.at(at.parent_pointer()).erase(at.back());
  else
    j[at] = value;
  return j.dump();
}

std::string refusal_of_topology(const std::string& text) {
  const auto parsed = parse_topology(text);
  if (parsed) return "accepted";
  EXPECT_EQ(parsed.error().kind, Error::Kind::bad_input);
  EXPECT_EQ(parsed.error().message.find('\n'), std::string::npos);
  return parsed.error().message;
}

TEST(TopologyJson, ComesBackAsItWas) {
  const auto parsed = parse_topology(to_json_text(example_topology()));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(*parsed, example_topology());
}

TEST(TopologyJson, TextIsTheSameAfterARoundTrip) {
  const std::string text = to_json_text(example_topology());
  EXPECT_EQ(to_json_text(*parse_topology(text)), text);
}

TEST(TopologyJson, WholeNumbersHaveNoFraction) {
  const Json j = to_json(example_topology());
  EXPECT_TRUE(j["memories"][0]["attributes"]["size"]["value"].is_number_integer());
  EXPECT_THAT(to_json_text(example_topology()), HasSubstr("\"value\": 150754820096,"));
}

TEST(TopologyJson, LatenciesAreGivenInNanosecondsToo) {
  const auto latency_of = [](std::uint64_t clock_khz, std::uint64_t measured_clock_khz) {
    Topology t = example_topology();
    t.gpu.clock_khz = clock_khz;
    t.gpu.measured_clock_khz = measured_clock_khz;
    return to_json(t)["memories"][0]["attributes"]["latency"];
  };
  EXPECT_DOUBLE_EQ(latency_of(1'980'000, 0)["value_ns"], 19.0);  // 37.625 / 1.98
  EXPECT_DOUBLE_EQ(latency_of(1'980'000, 990'000)["value_ns"], 38.01) << "of the clock that loads were timed at";
  EXPECT_FALSE(latency_of(0, 0).contains("value_ns"));
}

TEST(TopologyJson, AnIntervalOf95PercentNeedNotSaySo) {
  const Json attributes = to_json(example_topology())["memories"][0]["attributes"];
  EXPECT_FALSE(attributes["size"].contains("interval_kind"));
  EXPECT_EQ(attributes["latency"]["interval_kind"], "quartiles");
}

TEST(TopologyJson, StructureThatWasNotMeasuredIsAbsent) {
  Topology t = example_topology();
  Memory& l1 = t.memories.front();
  l1.scope.reset();
  l1.instances_per_scope.reset();
  l1.physical_cache.clear();
  l1.structure.clear();
  const Json j = to_json(t)["memories"][0];
  for (const char* member : {"scope", "instances_per_scope", "physical_cache", "structure"})
    EXPECT_FALSE(j.contains(member)) << member;
  const auto parsed = parse_topology(to_json_text(t));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(*parsed, t);
}

TEST(TopologyJson, AStatementSaysHowItWasFound) {
  const Json structure = to_json(example_topology())["memories"][0]["structure"];
  EXPECT_EQ(structure["scope"], Json::parse(R"({"value": "group", "status": "measured", "method": "eviction",
                                               "confidence": 0.99, "samples": 4096, "note": "of two SMs each"})"));
  EXPECT_TRUE(structure["code"]["value"].is_null());
}

TEST(TopologyJson, UnknownKeysAreIgnored) {
  EXPECT_EQ(refusal_of_topology(with("/gpu/colour", "green")), "accepted");
}

TEST(TopologyJson, WhatIsMissingIsNamed) {
  const Json gone(Json::value_t::discarded);
  EXPECT_THAT(refusal_of_topology(with("/schema", gone)), HasSubstr("lacks 'schema'"));
  EXPECT_THAT(refusal_of_topology(with("/gpu", gone)), HasSubstr("lacks 'gpu'"));
  EXPECT_THAT(refusal_of_topology(with("/memories/0/attributes", gone)), HasSubstr("/memories/0: lacks 'attributes'"));
  EXPECT_THAT(refusal_of_topology(with("/memories/1/attributes/size/unit", gone)),
              HasSubstr("/memories/1/attributes/size: lacks 'unit'"));
}

TEST(TopologyJson, WhatIsWrongIsNamedWithItsPath) {
  EXPECT_THAT(refusal_of_topology(with("/schema", "gputopo-topology/2")),
              HasSubstr("/schema: must be 'gputopo-topology/1'"));
  EXPECT_THAT(refusal_of_topology(with("/memories", 3)), HasSubstr("/memories: must be an array"));
  EXPECT_THAT(refusal_of_topology(with("/memories/0", 3)), HasSubstr("/memories/0: must be an object"));
  EXPECT_THAT(refusal_of_topology(with("/memories/0/scope", "galaxy")),
              HasSubstr("/memories/0/scope: unknown name 'galaxy'"));
  EXPECT_THAT(refusal_of_topology(with("/memories/0/structure", 3)),
              HasSubstr("/memories/0/structure: must be an object"));
  EXPECT_THAT(refusal_of_topology(with("/memories/0/structure/scope", 3)),
              HasSubstr("structure/scope: must be an object"));
  EXPECT_THAT(refusal_of_topology(with("/memories/0/structure/scope/status", "guess")),
              HasSubstr("unknown name 'guess'"));
  EXPECT_THAT(refusal_of_topology(with("/memories/0/structure/scope/value", nullptr)),
              HasSubstr("measured, but says nothing"));
  EXPECT_THAT(refusal_of_topology(with("/memories/0/structure/scope/confidence", -1)), HasSubstr("between 0 and 1"));
  EXPECT_THAT(refusal_of_topology(with("/provenance/interruptions/repeated", -1)), HasSubstr("interruptions/repeated"));
  EXPECT_THAT(refusal_of_topology(with("/memories/0/attributes/size/interval_kind", "80 %")),
              HasSubstr("must be one of 95 %"));
  EXPECT_THAT(refusal_of_topology(with("/memories/0/attributes/size/status", "guess")),
              HasSubstr("unknown name 'guess'"));
  EXPECT_THAT(refusal_of_topology(with("/memories/0/attributes/size/value", "big")),
              HasSubstr("size/value: must be a number"));
  EXPECT_THAT(refusal_of_topology(with("/memories/0/attributes/size/value", -1)),
              HasSubstr("size/value: must not be negative"));
  EXPECT_THAT(refusal_of_topology(with("/memories/0/attributes/size/confidence", 1.5)), HasSubstr("between 0 and 1"));
  EXPECT_THAT(refusal_of_topology(with("/memories/0/attributes/size/interval", Json::array({3, 1}))),
              HasSubstr("wrong way round"));
  EXPECT_THAT(refusal_of_topology(with("/memories/0/attributes/size/interval", Json::array({3}))),
              HasSubstr("two numbers"));
  EXPECT_THAT(refusal_of_topology(with("/memories/0/attributes/size/samples", -1)), HasSubstr("not negative"));
  EXPECT_THAT(refusal_of_topology(with("/gpu/sm_count", 4294967296ULL)), HasSubstr("/gpu/sm_count: is too large"));
  EXPECT_THAT(refusal_of_topology(with("/memories/1/sm_groups", Json::array({Json::array({0, -1})}))),
              HasSubstr("sm_groups"));
}

TEST(TopologyJson, AChecksumThatDoesNotFitIsRefused) {
  Json j = to_json(example_topology());
  ASSERT_TRUE(j.contains("checksum"));
  j["memories"][0]["attributes"]["size"]["value"] = 246657;
  EXPECT_THAT(refusal_of_topology(j.dump()), HasSubstr("/checksum: doesn't fit"));
  j = to_json(example_topology());
  j["gpu"]["colour"] = "green";
  EXPECT_THAT(refusal_of_topology(j.dump()), HasSubstr("/checksum: doesn't fit"));
  j["checksum"] = 7;
  EXPECT_THAT(refusal_of_topology(j.dump()), HasSubstr("/checksum: must be a string"));
}

TEST(TopologyJson, AChecksumIsOfTheValuesAloneNotOfTheirText) {
  Topology t = example_topology();
  t.memories[0].attributes["size"].note = "f\xc3\xbcr \"alle\"";
  t.provenance.seed = 18446744073709551615U;
  const Json j = to_json(t);
  for (const std::string& text : {j.dump(), j.dump(7, '\t', true)}) {
    const auto read = read_topology(text);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_TRUE(read->has_checksum);
    EXPECT_EQ(read->topology, t);
  }
  std::string text = j.dump();
  text.replace(text.find("246656"), 6, "2.46656e5");
  EXPECT_EQ(refusal_of_topology(text), "accepted");
}

TEST(TopologyJson, WithoutAChecksumItSaysSo) {
  const auto read = read_topology(with("/gpu/name", "by hand"));
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->has_checksum);
}

TEST(TopologyJson, HostileTextsAreRefused) {
  EXPECT_THAT(refusal_of_topology(""), HasSubstr("is empty"));
  EXPECT_THAT(refusal_of_topology(std::string(1000000, '[')), HasSubstr("nested too deeply"));
  EXPECT_THAT(refusal_of_topology("{\"schema\": 1e999}"), HasSubstr("JSON"));
  const std::string text = to_json_text(example_topology());
  for (std::size_t length = 0; length + 2 < text.size(); length += 7)
    ASSERT_NE(refusal_of_topology(text.substr(0, length)), "accepted");
}

}  // namespace
}  // namespace gputopo
