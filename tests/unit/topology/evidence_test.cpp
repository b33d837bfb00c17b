#include "topology/evidence.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "json/value.hpp"

namespace gputopo {
namespace {

using ::testing::HasSubstr;

Evidence curves() {
  DecidingCurve size{"l1",
                     "size",
                     "l1.geometry",
                     "misses",
                     12,
                     {"footprint", "B", true},
                     {"share of loads that miss", "", false},
                     {{"by timing", {{512, 0}, {1024, 0.125}}}},
                     512,
                     Interval{512, 640}};
  DecidingCurve open = size;
  open.quantity = "line_size";
  open.change.reset();
  open.interval.reset();
  open.method.clear();
  open.programs = 0;
  return {"GPU-1", "2026-01-02T03:04:05Z", {size, open}};
}

TEST(EvidenceJson, ComesBackAsItWasWritten) {
  const auto read = parse_evidence(to_json_text(curves()));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, curves());
}

// With the checksum that fits, so that what is wrong is seen.
std::string sealed(nlohmann::ordered_json j) {
  j.erase("checksum");
  if (const auto read = json::parse(j.dump(), {})) j["checksum"] = json::checksum_without(*read, {});
  return j.dump();
}

std::string message_of(const char* pointer, const nlohmann::ordered_json& value) {
  auto j = nlohmann::ordered_json::parse(to_json_text(curves()));
  j[nlohmann::ordered_json::json_pointer(pointer)] = value;
  const auto read = parse_evidence(sealed(std::move(j)));
  return read ? std::string() : read.error().message;
}

TEST(EvidenceJson, WhatIsWrongIsNamedByItsPath) {
  using nlohmann::ordered_json;
  EXPECT_THAT(message_of("/schema", "gputopo-topology/1"), HasSubstr("gputopo-evidence/1"));
  EXPECT_THAT(message_of("/curves/1/series/0/x", ordered_json{512}), HasSubstr("/curves/1/series/0"));
  EXPECT_THAT(message_of("/curves/0/series/0/y/1", "much"), HasSubstr("/curves/0/series/0/y/1: must be a number"));
  EXPECT_THAT(message_of("/curves/0/interval", ordered_json{2, 1}), HasSubstr("/curves/0/interval"));
  EXPECT_THAT(message_of("/curves/0/x", nullptr), HasSubstr("/curves/0/x"));
  EXPECT_THAT(message_of("/curves/0/programs", -1), HasSubstr("/curves/0/programs"));
  EXPECT_EQ(message_of("/curves/0/unknown", 1), "");
}

TEST(EvidenceJson, TooMuchIsRefused) {
  using nlohmann::ordered_json;
  EXPECT_THAT(message_of("/curves/0/series/0/y/1", 1e19), HasSubstr("is too large"));
  EXPECT_THAT(message_of("/curves/0/change", -1e19), HasSubstr("/curves/0/change: is too large"));
  EXPECT_THAT(message_of("/curves/0/series/0/x", ordered_json{1024, 512}), HasSubstr("/x/1: is out of order"));
  const auto j = ordered_json::parse(to_json_text(curves()));
  EXPECT_THAT(message_of("/curves", ordered_json(1025, j["curves"][0])), HasSubstr("/curves: 1024 are the most"));
  EXPECT_THAT(message_of("/curves/0/series", ordered_json(65, j["curves"][0]["series"][0])),
              HasSubstr("/curves/0/series: 64 are the most"));
  ordered_json endless = j["curves"][0]["series"][0];
  endless["x"] = ordered_json(262145, 1), endless["y"] = ordered_json(262145, 1);
  EXPECT_THAT(message_of("/curves/0/series/0", endless), HasSubstr("262144 points are the most"));
  EXPECT_THAT(message_of("/unknown", ordered_json::parse("[[[[[[[1]]]]]]]")), HasSubstr("not gputopo evidence"));
}

TEST(EvidenceJson, EveryChangeIsNoticed) {
  const std::string text = to_json_text(curves());
  for (std::size_t i = 0; i < text.size(); ++i)
    for (const char flip : {'\x01', '\x10'}) {
      std::string changed = text;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      const auto read = parse_evidence(changed);
      EXPECT_TRUE(!read || *read == curves()) << changed;
    }
  auto j = nlohmann::ordered_json::parse(text);
  j.erase("checksum");
  EXPECT_FALSE(parse_evidence(j.dump()));
}

TEST(EvidenceJson, OtherTextsAreRefused) {
  for (const char* text : {"", "{}", "[]", "{\"schema\": \"gputopo-evidence/1\"}"})
    EXPECT_FALSE(parse_evidence(text)) << text;
}

}  // namespace
}  // namespace gputopo
