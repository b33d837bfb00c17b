#include "report/grid.hpp"

#include <gtest/gtest.h>

#include "report/footnotes.hpp"

namespace gputopo::report {
namespace {

TEST(Grid, MarksDoNotDisturbTheAlignment) {
  Grid grid({{"Name"}, {"Cycles", Align::right}, {"End"}});
  grid.add({{"a", {}}, {"38", {}}, {"x", {}}});
  grid.add({{"bc", {}}, {"1715", "[12]"}, {"y", {}}});
  EXPECT_EQ(grid.text({}),
            "Name    Cycles  End\n"
            "----  --------  ---\n"
            "a       38      x\n"
            "bc    1715[12]  y\n");
  EXPECT_EQ(grid.width(), 19U);
}

TEST(Grid, ShortRowsAndNoRowsAreFine) {
  Grid grid({{"A"}, {"B"}});
  EXPECT_EQ(grid.text({}), "A  B\n-  -\n");
  grid.add({{"x", {}}});
  EXPECT_EQ(grid.text({}), "A  B\n-  -\nx\n");
}

TEST(Footnotes, EqualNotesShareANumber) {
  Footnotes notes(MarkStyle::ascii);
  EXPECT_EQ(notes.mark("one"), "[1]");
  EXPECT_EQ(notes.mark("two"), "[2]");
  EXPECT_EQ(notes.mark("one"), "[1]");
  EXPECT_EQ(notes.text(80), "[1] one\n[2] two\n");
}

TEST(Footnotes, AreWrappedUnderTheirText) {
  Footnotes notes(MarkStyle::raised);
  for (int i = 0; i < 11; ++i) static_cast<void>(notes.mark(std::string(static_cast<std::size_t>(i), 'x')));
  EXPECT_EQ(notes.mark("last note"), "¹²");
  EXPECT_TRUE(notes.text(8).ends_with("¹² last\n   note\n"));
}

TEST(Grid, UnitsStandBelowTheTitles) {
  Grid grid({{"Memory"}, {"Latency", Align::right, "cycles"}});
  grid.add({{"L1", {}}, {"38", {}}});
  EXPECT_EQ(grid.text({}),
            "Memory  Latency\n"
            "         cycles\n"
            "------  -------\n"
            "L1           38\n");
  EXPECT_EQ(heading_of({"Latency", Align::right, "cycles"}), "Latency (cycles)");
  EXPECT_EQ(heading_of({"Scope"}), "Scope");
}

TEST(Grid, FitsByNarrowingFirst) {
  Grid grid({{"Name"}, {"Cycles", Align::right}, {"End"}});
  grid.add({{"a", {}}, {"38", {}}, {"x", {}}});
  grid.add({{"bc", {}}, {"1715", "[12]"}, {"y", {}}});
  grid.fit(19);
  EXPECT_EQ(grid.width(), 19U) << "what fits stays as it is";
  grid.fit(18);
  EXPECT_EQ(grid.text({}),
            "Name   Cycles End\n"
            "---- -------- ---\n"
            "a          38 x\n"
            "bc   1715[12] y\n");
}

TEST(Grid, ALastColumnWithoutRoomStandsBelowTheRows) {
  Grid grid({{"Name"}, {"Rate", Align::right, "B/s"}, {"Reached by"}});
  grid.add({{"a", {}}, {"38", {}}, {"eight threads with four chains each", {}}});
  grid.add({{"b", {}}, {"7", {}}, {}});
  grid.fit(24);
  EXPECT_EQ(grid.text({}),
            "Name  Rate\n"
            "       B/s\n"
            "    Reached by\n"
            "----  ----\n"
            "a       38\n"
            "    eight threads with\n"
            "    four chains each\n"
            "b        7\n");
}

TEST(Grid, ALongUnitWidensItsColumn) {
  Grid grid({{"Miss", Align::right, "cycles"}});
  grid.add({{"7", {}}});
  EXPECT_EQ(grid.text({}), "  Miss\ncycles\n------\n     7\n");
}

}  // namespace
}  // namespace gputopo::report
