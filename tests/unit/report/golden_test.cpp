// Whole renderings against stored ones. GPUTOPO_UPDATE_GOLDEN=1 rewrites the stored ones, for review in the diff.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "example.hpp"
#include "report/report.hpp"
#include "report/text.hpp"

namespace gputopo::report {
namespace {

void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(GPUTOPO_SOURCE_DIR) + "/tests/fixtures/report/" + name;
  if (std::getenv("GPUTOPO_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << text;
    return;
  }
  std::ifstream file(path);
  ASSERT_TRUE(file) << path;
  std::ostringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(text, expected.str());
}

Options with(bool all, bool unicode) {
  Options options;
  options.all = all;
  options.look.unicode = unicode;
  return options;
}

std::string rendered_example(Renderer render, const Options& options) {
  const Topology t = example();
  return render({&t, 1}, options);
}

TEST(Golden, Table) {
  expect_golden("table.txt", rendered_example(render_table, {}));
}
TEST(Golden, TableOfEverything) {
  expect_golden("table_all.txt", rendered_example(render_table, with(true, false)));
}
TEST(Golden, TableInUnicode) {
  expect_golden("table_unicode.txt", rendered_example(render_table, with(false, true)));
}
TEST(Golden, Csv) {
  expect_golden("example.csv", rendered_example(render_csv, {}));
}
TEST(Golden, Markdown) {
  expect_golden("example.md", rendered_example(render_markdown, with(true, false)));
}
TEST(Golden, Json) {
  expect_golden("example.json", rendered_example(render_json, {}));
}
TEST(Golden, Html) {
  Options options;
  const Topology t = example();
  const DecidingCurve curve{"l1",
                            "size",
                            "l1.geometry",
                            "misses",
                            12,
                            {"footprint", "B", true},
                            {"share of loads that miss", "", false},
                            {{"by timing", {{4096, 0}, {8192, 0.125}, {16384, 1}}}},
                            4096,
                            Interval{4096, 5120}};
  options.evidence = {{t.gpu.uuid, t.provenance.created, {curve}},
                      {"another GPU's", t.provenance.created, {curve, curve}}};
  expect_golden("example.html", rendered_example(render_html, options));
}

TEST(Golden, TablesStayWithinTheTerminal) {
  for (const Options& options : {Options{}, with(true, false), with(true, true)}) {
    for (const std::size_t width : {80U, 100U, 132U}) {
      Options own = options;
      own.width = width;
      std::istringstream lines(rendered_example(render_table, own));
      for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), width) << line;
    }
  }
}

TEST(Golden, AsciiTablesAreAscii) {
  for (const char c : rendered_example(render_table, with(true, false))) ASSERT_LT(static_cast<unsigned char>(c), 128);
}

}  // namespace
}  // namespace gputopo::report
