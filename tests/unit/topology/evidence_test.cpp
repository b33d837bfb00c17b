#include "topology/evidence.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace gputopo {
namespace {

using ::testing::HasSubstr;

Evidence curves() {
  DecidingCurve size{"l1",
                     "size",
                     "l1.geometry",
                     {"footprint", "B", true},
                     {"share of loads that miss", "", false},
                     {{"by timing", {{512, 0}, {1024, 0.125}}}},
                     512,
                     Interval{512, 640}};
  DecidingCurve open = size;
  open.quantity = "line_size";
  open.change.reset();
  open.interval.reset();
  return {"GPU-1", "2026-01-02T03:04:05Z", {size, open}};
}

TEST(EvidenceJson, ComesBackAsItWasWritten) {
  const auto read = parse_evidence(to_json_text(curves()));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, curves());
}

TEST(EvidenceJson, WhatIsWrongIsNamedByItsPath) {
  const auto message_of = [](const char* pointer, const nlohmann::json& value) {
    nlohmann::json j = nlohmann::json::parse(to_json_text(curves()));
    j[nlohmann::json::json_pointer(pointer)] = value;
    const auto read = parse_evidence(j.dump());
    return read ? std::string() : read.error().message;
  };
  EXPECT_THAT(message_of("/schema", "gputopo-topology/1"), HasSubstr("gputopo-evidence/1"));
  EXPECT_THAT(message_of("/curves/1/series/0/x", nlohmann::json{512}), HasSubstr("/curves/1/series/0"));
  EXPECT_THAT(message_of("/curves/0/series/0/y/1", "much"), HasSubstr("/curves/0/series/0/y/1: must be a number"));
  EXPECT_THAT(message_of("/curves/0/interval", nlohmann::json{2, 1}), HasSubstr("/curves/0/interval"));
  EXPECT_THAT(message_of("/curves/0/x", nullptr), HasSubstr("/curves/0/x"));
  EXPECT_EQ(message_of("/curves/0/unknown", 1), "");
}

TEST(EvidenceJson, OtherTextsAreRefused) {
  for (const char* text : {"", "{}", "[]", "{\"schema\": \"gputopo-evidence/1\"}"})
    EXPECT_FALSE(parse_evidence(text)) << text;
}

}  // namespace
}  // namespace gputopo
