#include "exchange/mt4g.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "device/sim/builtin.hpp"
#include "device/sim/model.hpp"
#include "mt4g_fields.hpp"

namespace gputopo::exchange {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Topology h200() {
  return sim::truth(*sim::builtin_model("h200"));
}

json exported(const Topology& topology) {
  const auto text = mt4g_text(topology);
  EXPECT_TRUE(text) << text.error().message;
  return text ? json::parse(*text) : json();
}

void set(Topology& t, const char* memory, const char* attribute, double value, const char* unit) {
  Estimate e;
  e.value = value;
  e.unit = unit;
  e.status = Status::measured;
  t.find(memory)->attributes[attribute] = e;
}

TEST(Mt4g, EveryBuiltInModelIsReadableOrRefusedByName) {
  int readable = 0;
  for (const std::string_view name : sim::builtin_models()) {
    const auto text = mt4g_text(sim::truth(*sim::builtin_model(name)));
    if (text) {
      EXPECT_THAT(faults_for_sys_sage(json::parse(*text)), IsEmpty()) << name;
      ++readable;
    } else {
      EXPECT_THAT(text.error().message, HasSubstr("insist on")) << name;
    }
  }
  EXPECT_GE(readable, 3);
}

TEST(Mt4g, HoldsWhatIsKnownInTheFormatsUnits) {
  const json j = exported(h200());
  EXPECT_EQ(j["general"]["name"], "NVIDIA H200 (simulated)");
  EXPECT_EQ(j["general"]["computeCapability"], (json{{"major", 9}, {"minor", 0}}));
  EXPECT_EQ(j["general"]["clockRate"]["value"], 1980000);
  EXPECT_EQ(j["compute"]["numberOfCoresPerMultiProcessor"], 128);
  EXPECT_EQ(j["memory"]["main"]["totalGlobalMem"]["value"], 150110011392);
  EXPECT_EQ(j["memory"]["l2"]["size"]["value"], 62914560);
  EXPECT_EQ(j["memory"]["l2"]["segmentSize"]["size"], 31457280);
  EXPECT_EQ(j["memory"]["constant"]["l1.5"]["size"]["size"], 131072);  // whole, whoever shares it
  EXPECT_EQ(j["memory"]["shared"]["sharedMemPerBlock"]["value"], 49152);
  EXPECT_EQ(j["memory"]["l1"]["sharedWith"], (json{"Read Only", "Texture"}));
  EXPECT_EQ(j["memory"]["texture"]["latency"]["mean"], 87);
}

TEST(Mt4g, LatenciesOfL2AndMemoryComeWithBothBandwidthsOrNotAtAll) {
  Topology t = h200();
  EXPECT_FALSE(exported(t)["memory"]["l2"].contains("latency"));
  set(t, "l2", "read_bandwidth", 5e12, "B/s");
  json l2 = exported(t)["memory"]["l2"];
  EXPECT_NEAR(l2["readBandwidth"]["value"].get<double>(), 4656.6, 0.1);
  EXPECT_FALSE(l2.contains("latency"));
  EXPECT_FALSE(l2.contains("missPenalty"));
  set(t, "l2", "write_bandwidth", 4e12, "B/s");
  l2 = exported(t)["memory"]["l2"];
  EXPECT_EQ(l2["latency"]["mean"], 280);
  EXPECT_TRUE(l2.contains("missPenalty"));
  EXPECT_THAT(faults_for_sys_sage(exported(t)), IsEmpty());
}

TEST(Mt4g, WhatWasNotMeasuredIsLeftOut) {
  Topology t = h200();
  t.find("l1")->attributes["line_size"].status = Status::inconclusive;
  t.find("l1")->attributes["size"].status = Status::lower_bound;
  t.find("texture")->attributes.erase("latency");
  t.find("constant_l1_5")->attributes["size"].status = Status::lower_bound;
  const json memory = exported(t)["memory"];
  EXPECT_FALSE(memory["l1"].contains("lineSize"));
  EXPECT_FALSE(memory["l1"].contains("size"));
  EXPECT_FALSE(memory.contains("texture"));
  EXPECT_EQ(memory["constant"].size(), 1U);  // the parser takes both constant caches or none
  EXPECT_THAT(faults_for_sys_sage(exported(t)), IsEmpty());
}

TEST(Mt4g, ACacheThatSeveralSmsShareIsNotGivenToEachOfThem) {
  Topology t = h200();
  t.find("texture")->scope = Scope::tpc;
  EXPECT_FALSE(exported(t)["memory"].contains("texture"));
}

TEST(Mt4g, NamesEverythingThatItsReadersInsistOn) {
  Topology t = h200();
  t.gpu.limits.threads_per_warp = 0;
  t.gpu.memory_bus_bits = 0;
  t.find("l2")->attributes["size"].status = Status::inconclusive;
  const auto text = mt4g_text(t);
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().message, HasSubstr("threads_per_warp, the memory's bus, the L2's size;"));
}

TEST(Mt4g, IsAsciiWhateverTheGpuIsCalled) {
  Topology t = h200();
  t.gpu.name = "M\xc3\xbcller\x1b[31m\xff";
  const auto text = mt4g_text(t);
  ASSERT_TRUE(text);
  EXPECT_TRUE(std::all_of(text->begin(), text->end(), [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
  EXPECT_EQ(exported(t)["general"]["name"].get<std::string>().substr(0, 7), "M\xc3\xbcller");
}

TEST(Mt4gFields, FindsWhatSysSageWouldAbortOn) {
  json j = exported(h200());
  ASSERT_THAT(faults_for_sys_sage(j), IsEmpty());
  j["memory"]["l2"]["latency"]["mean"] = 280;
  EXPECT_THAT(faults_for_sys_sage(j), ElementsAre("/memory/l2/latency without both bandwidths"));
  j["memory"]["l2"].erase("latency");
  j["memory"]["texture"].erase("latency");
  EXPECT_THAT(faults_for_sys_sage(j), ElementsAre("lacks /memory/texture/latency/mean"));
  j["memory"].erase("texture");
  j["memory"]["l3"]["size"] = 1;
  EXPECT_THAT(faults_for_sys_sage(j), ElementsAre("/memory/l3/size isn't of the format"));
}

}  // namespace
}  // namespace gputopo::exchange
