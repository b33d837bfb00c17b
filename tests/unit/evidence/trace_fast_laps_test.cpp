// Averages of laps, some of which something else than misses slows.
#include "evidence/traces/trace_fast_laps.hpp"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "change_point/random.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/traces/traces.hpp"

namespace gputopo::evidence {
namespace {

using namespace change_point;

constexpr int fitting_lines = 64, stepped_lines = 4, laps_a_row = 12;
constexpr double bytes_a_line = 128, hits = 30;

struct Walked {
  double miss = 60, stranger = 0.01;

  // A lap's average, of which those lines miss that the pigeonhole says, and as many more.
  double lap(int lines, Random& random) const {
    const int misses = std::min(lines, 2 * std::max(0, lines - fitting_lines));
    double sum = 0;
    for (int line = 0; line < lines; ++line) {
      sum += line < misses ? miss : hits;
      if (random.uniform() < stranger) sum += std::round(50 + 250 * random.uniform());
    }
    return sum / lines;
  }

  Trace trace(Random& random) const {
    Trace trace;
    for (int lines = fitting_lines / 4; lines <= fitting_lines + 8 * stepped_lines; lines += stepped_lines) {
      Row& row = trace.rows.emplace_back(Row{lines * bytes_a_line, {}});
      for (int i = 0; i < laps_a_row; ++i) row.values.push_back(lap(lines, random));
    }
    return trace;
  }
};

TEST(FastLaps, OfMoreThanSeemsToFitSayThatItFits) {
  int wrong = 0, told = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    const Estimate size = find_size(Walked{}.trace(random), {});
    if (size.status != Status::measured) continue;
    constexpr double fits = fitting_lines * bytes_a_line;
    ++told;
    wrong += size.interval->low <= fits && fits <= size.interval->high ? 0 : 1;
  }
  EXPECT_GT(told, 100);
  EXPECT_LE(wrong, 2);
}

TEST(FastLaps, SayNothingWhereAllLapsBehindTheSizeAreSlower) {
  Random random(1);
  const Trace trace = Walked{90, 0}.trace(random);
  Estimate size = measured(fitting_lines * bytes_a_line, "B", "misses", 1);
  EXPECT_FALSE(size_by_fast_laps(trace, size));
  size.value = *size.value - stepped_lines * bytes_a_line;  // the row behind it fits as well
  const auto found = size_by_fast_laps(trace, size);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->value, fitting_lines * bytes_a_line);
}

// Single loads that hit are no laps: of more than fits some do.
TEST(FastLaps, AreNoSingleLoads) {
  Trace trace;
  for (int i = 1; i <= 20; ++i) {
    Row& row = trace.rows.emplace_back(Row{64.0 * i, {}});
    for (int load = 0; load < laps_a_row; ++load) row.values.push_back(i > 10 && load > 3 ? 200 : 40);
  }
  EXPECT_FALSE(size_by_fast_laps(trace, measured(640, "B", "misses", 1)));
}

}  // namespace
}  // namespace gputopo::evidence
