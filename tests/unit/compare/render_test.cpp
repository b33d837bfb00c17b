#include "compare/render.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/text.hpp"
#include "sample.hpp"

namespace gputopo::compare {
namespace {

using ::testing::HasSubstr;

struct Rendered {
  std::string table;
  nlohmann::json json;
};

Rendered rendered(const std::vector<Topology>& topologies) {
  const auto comparison = compare(topologies, {});
  EXPECT_TRUE(comparison);
  std::vector<Subject> gpus;
  for (const Topology& t : topologies) gpus.push_back({"node.json", &t});
  return {render_table(gpus, *comparison, 80), nlohmann::json::parse(render_json(gpus, *comparison))};
}

Topology slow() {
  Topology t = sample();
  t.memories.front().attributes["latency"] = measured(300, "cycles", {299, 301});
  return t;
}

TEST(CompareTable, NamesTheQuantityItsValuesAndWhoHasThem) {
  const std::string text = rendered({slow(), sample(), sample()}).table;
  EXPECT_THAT(text, HasSubstr("GPU 0: node.json: NVIDIA Sample (real GPU)\n"));
  EXPECT_THAT(text, HasSubstr("L2: latency  280 cycles (278 to 282)  1-2\n"
                              "             300 cycles (299 to 301)  0\n"));
  EXPECT_THAT(text, HasSubstr("1 of 7 quantities differs.\n"));
}

TEST(CompareTable, SaysThatNothingDiffers) {
  const std::string text = rendered({sample(), sample()}).table;
  EXPECT_THAT(text, HasSubstr("None of 7 quantities differ.\n"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("What")));
}

TEST(CompareTable, AFilesTextCannotSteerTheTerminal) {
  Topology evil = sample();
  evil.gpu.name = "\033[2J";
  evil.memories.front().label = "\033[31m";
  evil.memories.front().attributes["latency"] = measured(500, "cycles", {499, 501});
  EXPECT_EQ(rendered({evil, sample()}).table.find('\033'), std::string::npos);
}

TEST(CompareJson, HoldsEverySide) {
  const auto j = rendered({slow(), sample(), sample()}).json;
  EXPECT_EQ(j["schema"], "gputopo-comparison/1");
  EXPECT_EQ(j["gpus"].size(), 3U);
  ASSERT_EQ(j["differences"].size(), 1U);
  const auto& difference = j["differences"][0];
  EXPECT_EQ(difference["quantity"], "l2.latency");
  EXPECT_EQ(difference["sides"][0]["gpus"], (std::vector<int>{1, 2}));
  EXPECT_EQ(difference["sides"][1]["value"], 300);
  EXPECT_EQ(difference["sides"][1]["range"], (std::vector<int>{299, 301}));
}

TEST(CompareJson, AnOpenEndIsNull) {
  Topology bound = sample();
  bound.memories.front().attributes["latency"] = measured(400, "cycles", {399, 401});
  bound.memories.front().attributes["latency"].status = Status::lower_bound;
  const auto j = rendered({sample(), bound}).json;
  EXPECT_TRUE(j["differences"][0]["sides"][1]["range"][1].is_null());
}

}  // namespace
}  // namespace gputopo::compare
