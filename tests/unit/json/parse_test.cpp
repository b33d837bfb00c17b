#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/value.hpp"

namespace gputopo::json {
namespace {

std::string refusal(std::string_view text, const Limits& limits = {}) {
  const auto parsed = parse(text, limits);
  if (parsed) return "accepted";
  EXPECT_EQ(parsed.error().kind, Error::Kind::bad_input);
  return parsed.error().message;
}

TEST(JsonParse, EveryTypeComesThrough) {
  const auto j = parse(R"({"null": null, "yes": true, "whole": 18446744073709551615, "negative": -3, "real": 0.5,
                           "text": "a\u00e4\n", "list": [1, [2]], "object": {"z": 1, "a": 2}})",
                       {});
  ASSERT_TRUE(j) << j.error().message;
  EXPECT_TRUE(j->find("null")->is_null());
  EXPECT_TRUE(j->find("yes")->boolean());
  EXPECT_EQ(j->find("whole")->whole(), 18446744073709551615U);
  EXPECT_TRUE(j->find("negative")->is_number());
  EXPECT_FALSE(j->find("negative")->is_whole());
  EXPECT_EQ(j->find("negative")->number(), -3);
  EXPECT_EQ(j->find("real")->number(), 0.5);
  EXPECT_EQ(j->find("text")->string(), "a\xc3\xa4\n");
  EXPECT_EQ(j->find("list")->array()[1].array()[0].whole(), 2U);
  EXPECT_EQ(j->find("absent"), nullptr);
  EXPECT_EQ(j->find("text")->find("text"), nullptr);
}

TEST(JsonParse, MembersKeepTheFilesOrder) {
  const auto j = parse(R"({"z": 1, "a": 2, "m": 3})", {});
  ASSERT_TRUE(j);
  std::string order;
  for (const Member& m : j->members()) order += m.key;
  EXPECT_EQ(order, "zam");
}

TEST(JsonParse, ANameTwiceInOneObjectIsRefused) {
  EXPECT_EQ(refusal(R"({"size": 1, "line": 2, "size": 1})"), "has 'size' twice in one object");
  EXPECT_EQ(refusal(R"([{"a": {"b": 1, "\u0062": 2}}])"), "has 'b' twice in one object");
  EXPECT_EQ(refusal(R"([{"a": {"a": 1}}, {"a": 2}])"), "accepted");
}

TEST(JsonParse, WhatIsNoJsonIsRefusedWithItsPlace) {
  EXPECT_EQ(refusal(""), "is empty");
  EXPECT_EQ(refusal(" \n"), "is empty");
  EXPECT_EQ(refusal("{\"a\": 1,\n \"b\" 2}"), "is not valid JSON at line 2, column 6");
  EXPECT_EQ(refusal("[1e999]"), "is not valid JSON at line 1, column 6");
  EXPECT_EQ(refusal("[1] 2"), "is not valid JSON at line 1, column 5");
  EXPECT_EQ(refusal({"[1]\0[2]", 7}), "is not valid JSON at line 1, column 4");
  EXPECT_EQ(refusal("\"\xff\""), "is not valid JSON at line 1, column 2");
}

TEST(JsonParse, DepthAndNumberOfValuesAreLimited) {
  EXPECT_EQ(refusal("[[[]]]", {.depth = 3}), "accepted");
  EXPECT_EQ(refusal("[[[[]]]]", {.depth = 3}), "is nested too deeply");
  EXPECT_EQ(refusal(std::string(1000000, '[')), "is nested too deeply");
  EXPECT_EQ(refusal(R"({"schema": "gputopo-topology/1", "a": [[[]]]})", {.depth = 3}),
            "is a gputopo-topology/1 and is nested too deeply");
  EXPECT_EQ(refusal(R"({"schema": "gputopo-\u001b", "a": [[[]]]})", {.depth = 3}), "is nested too deeply");
  EXPECT_EQ(refusal("[1, 2, 3]", {.depth = 3, .values = 4}), "accepted");
  EXPECT_EQ(refusal("[1, 2, []]", {.depth = 3, .values = 3}), "holds over 3 values");
}

}  // namespace
}  // namespace gputopo::json
