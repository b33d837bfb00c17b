#include "evidence/traces/trace_nested.hpp"

#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "evidence/traces/traces.hpp"

namespace gputopo::evidence {
namespace {

using change_point::Observation;
using change_point::Row;
using change_point::Trace;

constexpr double nested_line_bytes = 32, fast_cycles = 270, slow_cycles = 350, threshold_between = 310;

// Rows of ever more lines, each loaded `laps` times in order, of which is_slow(row, line) says which are.
template <class IsSlow>
Trace walks(std::size_t first, std::size_t step, std::size_t rows, std::size_t laps, const IsSlow& is_slow) {
  Trace trace;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t lines = first + i * step;
    Row& row = trace.rows.emplace_back(Row{static_cast<double>(lines) * nested_line_bytes, {}});
    for (std::size_t load = 0; load < laps * lines; ++load)
      row.values.push_back((is_slow(lines, load % lines) ? slow_cycles : fast_cycles) + static_cast<double>(load % 3));
  }
  return trace;
}

std::vector<Observation> counted(const Trace& trace) {
  std::vector<Observation> rows;
  for (const Row& row : trace.rows) {
    Observation& of_row = rows.emplace_back();
    of_row.control = row.control;
    for (const double cycles : row.values) of_row.weight += 1, of_row.sum += cycles >= threshold_between ? 1 : 0;
  }
  return rows;
}

// Whether lines are far, by stretches of so many.
std::vector<bool> far_lines(std::size_t together, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<bool> far;
  while (far.size() < 4096) far.insert(far.end(), together, random() % 2 == 0);
  return far;
}

TEST(NestedLoads, AreThoseOfLinesThatAreFar) {
  for (const std::size_t together : {1U, 4U, 64U})
    for (unsigned seed = 0; seed < 8; ++seed) {
      const std::vector<bool> far = far_lines(together, seed);
      const Trace trace = walks(320, 4, 17, 5, [&](std::size_t, std::size_t line) { return far[line]; });
      EXPECT_TRUE(are_slow_loads_nested(counted(trace))) << together << " " << seed;
      EXPECT_TRUE(do_slow_loads_keep_their_places(trace, threshold_between)) << together << " " << seed;
      const Estimate size = find_size(trace);
      EXPECT_NE(size.status, Status::measured) << size.note;
      EXPECT_NE(size.status, Status::upper_bound) << size.note;
    }
}

TEST(NestedLoads, AreNotThoseThatMissByThemselves) {
  std::mt19937 random(1);
  for (unsigned draw = 0; draw < 32; ++draw) {
    const Trace trace = walks(320, 4, 17, 1, [&](std::size_t lines, std::size_t) {
      return std::bernoulli_distribution(static_cast<double>(lines) / 640)(random);
    });
    EXPECT_FALSE(are_slow_loads_nested(counted(trace))) << draw;
    EXPECT_FALSE(do_slow_loads_keep_their_places(trace, threshold_between)) << draw;
  }
}

// Lines in turn to sets of four ways that go by use: of sets with one more all miss.
TEST(NestedLoads, AreNotThoseOfSetsThatOverflowOneAfterTheOther) {
  constexpr std::size_t sets = 64, ways = 4;
  const Trace trace = walks(
      260, 4, 12, 2, [&](std::size_t lines, std::size_t line) { return (lines - 1 - line % sets) / sets + 1 > ways; });
  EXPECT_FALSE(are_slow_loads_nested(counted(trace)));
  EXPECT_FALSE(do_slow_loads_keep_their_places(trace, threshold_between));
}

TEST(NestedLoads, AreNotToldByRowsOfAsManyLoads) {
  const std::vector<bool> far = far_lines(1, 1);
  Trace trace = walks(320, 4, 8, 1, [&](std::size_t, std::size_t line) { return far[line]; });
  for (Row& row : trace.rows) row.values.resize(100);
  EXPECT_FALSE(are_slow_loads_nested(counted(trace)));
}

}  // namespace
}  // namespace gputopo::evidence
