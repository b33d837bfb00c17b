#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "example.hpp"
#include "report/report.hpp"
#include "report/svg.hpp"
#include "topology/json.hpp"

namespace gputopo::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Every tag that is opened is closed, in order: enough to notice a forgotten or unescaped one.
bool is_balanced(const std::string& html) {
  std::vector<std::string> open;
  for (std::size_t at = html.find("<body"); (at = html.find('<', at)) != std::string::npos; ++at) {
    const std::size_t end = html.find('>', at);
    if (end == std::string::npos) return false;
    if (html[end - 1] == '/') continue;
    const bool closes = html[at + 1] == '/';
    const std::size_t from = at + (closes ? 2 : 1);
    const std::string name = html.substr(from, html.find_first_of(" >", from) - from);
    if (!closes) {
      open.push_back(name);
    } else if (open.empty() || open.back() != name) {
      return name == "html" && open.empty();
    } else {
      open.pop_back();
    }
  }
  return open.empty();
}

TEST(Formats, AreFoundByName) {
  ASSERT_EQ(formats().size(), 5U);
  EXPECT_EQ(formats().front().name, "table");
  for (const Format& format : formats()) EXPECT_EQ(find_format(format.name), &format);
  EXPECT_EQ(find_format("xml"), nullptr);
}

TEST(Formats, AllTakeNoTopologySeveralAndEmptyOnes) {
  const std::vector<Topology> several{example(), Topology{}, example()};
  Options all;
  all.all = true;
  for (const Format& format : formats()) {
    EXPECT_FALSE(format.render(several, all).empty()) << format.name;
    EXPECT_NO_THROW(static_cast<void>(format.render({}, {}))) << format.name;
  }
}

TEST(Formats, JsonOfOneIsAnObjectThatReadsBack) {
  const Topology t = example();
  EXPECT_EQ(*parse_topology(render_json({&t, 1}, {})), t);
}

TEST(Formats, JsonOfSeveralIsAnArray) {
  const std::vector<Topology> several{example(), example()};
  const auto j = nlohmann::ordered_json::parse(render_json(several, {}));  // a checksum counts the order of names
  ASSERT_TRUE(j.is_array());
  ASSERT_EQ(j.size(), 2U);
  EXPECT_EQ(*parse_topology(j[1].dump()), several[1]);
}

TEST(Formats, CsvQuotesWhatNeedsIt) {
  Topology t = example();
  t.gpu.name = "A \"B\", C\nD";
  EXPECT_THAT(render_csv({&t, 1}, {}), HasSubstr("\n\"A \"\"B\"\", C\nD\",GPU-1,false,l1,"));
}

TEST(Formats, CsvKeepsEveryDigit) {
  Topology t = example();
  t.memories[0].attributes["latency"].value = 38.123456789012345;
  EXPECT_THAT(render_csv({&t, 1}, {}), HasSubstr(",latency,38.123456789012344,cycles,"));
}

TEST(Formats, TheTableSaysWhichIntervalsAreNotOf95Percent) {
  Topology t = example();
  EXPECT_THAT(render_table({&t, 1}, {}), HasSubstr("\n95 % intervals. L1 data: latency 37.5 to 38.5 cycles;"));
  t.find("l1")->attributes["latency"].interval_kind = "quartiles";
  EXPECT_THAT(render_table({&t, 1}, {}),
              HasSubstr("\nIntervals, of 95 % where nothing else is said. L1 data: latency"));
  EXPECT_THAT(render_table({&t, 1}, {}), HasSubstr("(quartiles)"));
}

TEST(Formats, MarkdownEscapesMarkup) {
  Topology t = example();
  t.memories[0].label = "L1 | <b>*x*";
  EXPECT_THAT(render_markdown({&t, 1}, {}), HasSubstr("| L1 \\| \\<b\\>\\*x\\* |"));
}

TEST(Formats, HtmlIsBalancedAndSelfContained) {
  const Topology t = example();
  const std::string html = render_html({&t, 1}, {});
  EXPECT_TRUE(is_balanced(html));
  for (const char* outside : {"http", "src=", "url(", "@import", "<script"}) EXPECT_THAT(html, Not(HasSubstr(outside)));
}

TEST(Formats, HtmlEscapesEverythingFromTheFile) {
  Topology t = example();
  const std::string evil = "<script>\"'&";
  t.gpu.name = t.gpu.uuid = t.gpu.compute_capability = evil;
  t.provenance.notes = {evil};
  t.provenance.device = t.provenance.method = evil;
  t.provenance.breakdown_s = {{evil, 1}};
  for (Memory& m : t.memories) {
    m.id = m.label = m.physical_cache = evil;
    for (auto& [name, e] : m.attributes) {
      e.note = evil;
      if (e.unit != "B") e.unit = evil;
    }
  }
  const std::string html = render_html({&t, 1}, {});
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_TRUE(is_balanced(html));
}

TEST(Formats, PlotsTakeAbsurdValues) {
  for (const double absurd : {0.0, -5.0, 1e-300, 1e300}) {
    Topology t = example();
    for (Memory& m : t.memories)
      for (auto& [name, e] : m.attributes) e.value = absurd;
    const std::string html = render_html({&t, 1}, {});
    EXPECT_THAT(html, Not(HasSubstr("nan")));
    EXPECT_THAT(html, Not(HasSubstr("inf\"")));
  }
}

TEST(Svg, BarsAreProportional) {
  const std::string svg =
      bar_plot({{"a", "100", 100, 0, 0, false, "near"}, {"b", "50", 50, 0, 0, false, "near"}}, false, "t");
  EXPECT_THAT(svg, HasSubstr("width=\"465.0\""));
  EXPECT_THAT(svg, HasSubstr("width=\"232.5\""));
  // And for a phone, with the names above.
  EXPECT_THAT(svg, HasSubstr("width=\"368.0\""));
  EXPECT_THAT(svg, HasSubstr("width=\"184.0\""));
}

TEST(Formats, FurtherAttributesKeepTheirMethodsInANarrowTable) {
  Topology t = example();
  Estimate e = estimate(12345, "byte/s");
  e.method = "a_method_of_its_own";
  t.memories.front().attributes["latency_after_tlb_miss_1"] = e;
  Options options;
  options.all = true;
  options.width = 40;
  const std::string text = render_table({&t, 1}, options);
  EXPECT_THAT(text, HasSubstr("latency_after_tlb_miss_1"));
  EXPECT_THAT(text, HasSubstr("\n    a_method_of_its_own\n"));
  const std::size_t begin = text.find("Further attributes");
  EXPECT_EQ(text.substr(begin, text.find("\nWhich caches", begin) - begin).find("\n\n\n"), std::string::npos);
}

TEST(Formats, TheWholeTableSaysHowCachesAreOrganised) {
  Topology t = example();
  Memory& l1 = t.memories.front();
  l1.attributes["sets"] = estimate(8, "");
  l1.attributes["ways"] = estimate(4, "");
  l1.structure["index"] = statement("modulo", "collisions");
  l1.structure["index"].note = "address bits 6 to 8";
  Options options;
  EXPECT_EQ(render_table({&t, 1}, options).find("organised"), std::string::npos);
  options.all = true;
  const std::string text = render_table({&t, 1}, options);
  const std::size_t at = text.find("How caches are organised");
  ASSERT_NE(at, std::string::npos);
  const std::string table = text.substr(at);
  EXPECT_NE(table.find("modulo"), std::string::npos);
  EXPECT_NE(table.find("address bits 6 to 8"), std::string::npos);
}

TEST(Formats, EveryOneForPeopleHasAllDetails) {
  Topology t = example();
  t.memories.front().attributes["sets"] = estimate(64, "");
  t.memories.front().structure["write_policy"] = statement("through", "stores");
  Options options;
  options.all = true;
  for (const Renderer render : {render_table, render_markdown, render_html}) {
    const std::string text = render({&t, 1}, options);
    for (const char* title :
         {"Further attributes", "How caches are organised", "What stores do", "Where the time went"})
      EXPECT_THAT(text, HasSubstr(title));
  }
}

TEST(Formats, ACurveSaysWhatTheTablesDoAndWhereElseItChanges) {
  Topology t = example();
  Estimate& size = t.memories.front().attributes["size"];
  size = estimate(65536, "B", Status::api);
  DecidingCurve curve;
  curve.memory = t.memories.front().id;
  curve.quantity = "size";
  curve.x.unit = "B";
  curve.series = {{"loads", {{1, 0}, {2, 1}}}};
  curve.change = 40960;
  Options options;
  options.evidence = {{t.gpu.uuid, t.provenance.created, {curve}}};
  EXPECT_THAT(render_html({&t, 1}, options),
              HasSubstr("64 KiB: told by the driver, not measured. This curve changes at 40 KiB"));
  size = estimate(40960, "B");
  const std::string html = render_html({&t, 1}, options);
  EXPECT_THAT(html, HasSubstr("<figcaption>40 KiB. Source"));
}

TEST(Formats, TheWholeTableSaysWhatIsFetchedAheadAndHowLinesDiffer) {
  Topology t = example();
  Options options;
  options.all = true;
  EXPECT_EQ(render_table({&t, 1}, options).find("fetched ahead"), std::string::npos);
  Memory& memory = t.memories.back();
  memory.structure["prefetch"] = statement("next_line", "cold_runs");
  memory.structure["prefetch"].note = "strides of 64 B to 4 KiB";
  EXPECT_EQ(render_table({&t, 1}, Options{}).find("fetched ahead"), std::string::npos);
  const std::string text = render_table({&t, 1}, options);
  const std::size_t at = text.find("What is fetched ahead, and how lines differ");
  ASSERT_NE(at, std::string::npos);
  EXPECT_NE(text.find("next_line", at), std::string::npos);
  EXPECT_NE(text.find("strides of 64 B to 4 KiB", at), std::string::npos);
}

}  // namespace
}  // namespace gputopo::report
