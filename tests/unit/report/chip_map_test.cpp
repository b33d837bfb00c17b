#include "report/chip_map.hpp"

#include <algorithm>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "example.hpp"
#include "report/report.hpp"

namespace gputopo::report {
namespace {

using testing::HasSubstr;
using testing::Not;

// Four SMs in two GPCs; only two of them have a known L2 side.
Topology placed() {
  Topology t = example();
  t.sm_places = {{2, {}, {}, 7, {}}, {0, {}, {}, 3, 1}, {3, {}, {}, 7, {}}, {16, {}, {}, 3, 0}};
  return t;
}

std::string rendered(Renderer render, bool all) {
  const Topology t = placed();
  Options options;
  options.all = all;
  return render({&t, 1}, options);
}

TEST(ChipMap, ListsTheGroupsOfEachKindThatWasMeasured) {
  const auto levels = chip_map(placed());
  ASSERT_EQ(levels.size(), 2U);
  EXPECT_EQ(levels[0].name, "L2 side");
  EXPECT_EQ(groups_text(levels[0]), "0: 16; 1: 0");
  EXPECT_EQ(levels[1].name, "GPC");
  EXPECT_EQ(groups_text(levels[1]), "3: 0 16; 7: 2-3");
  EXPECT_TRUE(chip_map(example()).empty());
}

TEST(ChipMap, EveryFormatShowsItUnderAll) {
  EXPECT_THAT(rendered(render_table, true), HasSubstr("GPC (2): 3: 0 16; 7: 2-3\n"));
  EXPECT_THAT(rendered(render_markdown, true), HasSubstr("- GPC (2): 3: 0 16; 7: 2-3\n"));
  EXPECT_THAT(rendered(render_html, true), HasSubstr("<li>GPC (2): 3: 0 16; 7: 2-3</li>"));
  EXPECT_THAT(rendered(render_csv, true), HasSubstr(",sm_3,place,,,,gpc,7,,measured,"));
  EXPECT_EQ(nlohmann::json::parse(rendered(render_json, true))["sm_places"].size(), 4U);
}

TEST(ChipMap, LinesOfCsvHaveAsManyFieldsAsTheTitles) {
  std::istringstream lines(rendered(render_csv, true));
  std::string line;
  std::getline(lines, line);
  const auto commas = std::count(line.begin(), line.end(), ',');
  while (std::getline(lines, line)) EXPECT_EQ(std::count(line.begin(), line.end(), ','), commas) << line;
}

TEST(ChipMap, OtherwiseOnlyJsonHasIt) {
  for (const Renderer render : {render_table, render_markdown, render_html, render_csv}) {
    EXPECT_THAT(rendered(render, false), Not(HasSubstr("GPC (2)")));
    EXPECT_THAT(rendered(render, false), Not(HasSubstr("sm_3,")));
  }
}

}  // namespace
}  // namespace gputopo::report
