// Slow loads that come together: what interrupts is one event, whatever number of loads it slows.
#include "evidence/traces/trace_events.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>

#include <gtest/gtest.h>

#include "change_point/random.hpp"
#include "evidence/traces/traces.hpp"

namespace gputopo::evidence {
namespace {

using namespace change_point;

constexpr int event_rows = 8, event_loads = 20000, slow_loads = 1500, first_slow = 5;
constexpr double threshold = 100;

double event_bytes(int row) {
  return 4096.0 * (row + 1);
}

// Rows of hits; `is_slow` of a row and a load of it.
Trace rows_with(const std::function<bool(int row, int load)>& is_slow) {
  Trace trace;
  for (int i = 0; i < event_rows; ++i) {
    Row& row = trace.rows.emplace_back(Row{event_bytes(i), {}});
    for (int k = 0; k < event_loads; ++k) row.values.push_back(is_slow(i, k) ? 160 : 40 + k % 2);
  }
  return trace;
}

// Each at another place of its row.
bool in_a_burst(int row, int load) {
  const int begin = 3000 + 7000 * (row % 3);
  return row >= first_slow && load >= begin && load < begin + slow_loads;
}
bool here_and_there(int row, int load) {
  return row >= first_slow && load % 8 == 7;
}
bool at_one_place(int row, int load) {
  return row >= first_slow && load >= 3000 && load < 3000 + slow_loads;
}

std::vector<Event> events_of(const Trace& trace) {
  std::vector<Observation> rows;
  for (const Row& row : trace.rows)
    rows.push_back({row.control, static_cast<double>(row.values.size()),
                    static_cast<double>(std::ranges::count_if(row.values, [](double v) { return v >= threshold; }))});
  return events(trace, rows, threshold);
}

bool is_none(const Event& event) {
  return event.loads == 1 && event.left_out.empty();
}

TEST(LoadsAnEvent, AreThoseOfABurst) {
  const std::vector<Event> of_bursts = events_of(rows_with(in_a_burst));
  EXPECT_TRUE(is_none(of_bursts[first_slow - 1]));
  for (int row = first_slow; row < event_rows; ++row) {
    const Event& event = of_bursts[static_cast<std::size_t>(row)];
    EXPECT_TRUE(event.left_out_loads() == slow_loads || event.loads > slow_loads / 4.0) << row;
    EXPECT_LE(event.loads, 1.1 * slow_loads) << row;
  }
  EXPECT_TRUE(std::ranges::all_of(events_of(rows_with(here_and_there)), is_none));
}

// What a footprint misses is at the same places of neighbouring rows' laps.
TEST(LoadsAnEvent, AreNoPlaceOfTheLap) {
  EXPECT_TRUE(std::ranges::all_of(events_of(rows_with(at_one_place)), is_none));
}

TEST(LoadsAnEvent, AreNotToldOfSortedRows) {
  Trace trace = rows_with([](int row, int load) { return row == first_slow && here_and_there(row, load); });
  for (Row& row : trace.rows) std::ranges::sort(row.values);
  EXPECT_TRUE(std::ranges::all_of(events_of(trace), is_none));
}

// Interruptions of single loads, and some rows with one of many: time did that, and no size.
TEST(LoadsThatAnEventSlows, MakeNoSize) {
  int sizes = 0;
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    Random random(seed);
    Trace trace;
    for (int i = 0; i < 6; ++i) {
      Row& row = trace.rows.emplace_back(Row{event_bytes(i), {}});
      const bool is_interrupted = random.uniform() < 0.5;
      const double begin = event_loads * random.uniform(), end = begin + 50 + 350 * random.uniform();
      for (int k = 0; k < event_loads; ++k) {
        const double delay = random.uniform() < 3e-4 ? -300 * std::log(1 - random.uniform()) : 0;
        row.values.push_back(std::round(33 + random.normal() + delay) +
                             (is_interrupted && k >= begin && k < end ? 120 : 0));
      }
    }
    sizes += find_size(trace).status == Status::measured ? 1 : 0;
  }
  EXPECT_LE(sizes, 1);
}

// What slow loads all over the lap, or always at one place of it, show is a size.
TEST(LoadsThatAnEventSlows, AreNotThoseThatNoLongerFit) {
  for (const auto& missing : {here_and_there, at_one_place}) {
    const Estimate said = find_size(rows_with(missing));
    EXPECT_EQ(said.status, Status::measured) << said.note;
    EXPECT_EQ(said.value, event_bytes(first_slow - 1));
  }
}

// Footprints are 4096 B apart, and one load in a thousand is slow in one row before all are: as few as the last bytes
// of one could push out, and as others' lines as well.
TEST(LoadsThatAnEventSlows, AreFewerThanFootprintsAreApart) {
  const Estimate said =
      find_size(rows_with([](int row, int load) { return row > 3 || (row == 3 && load % 1000 == 7); }));
  ASSERT_EQ(said.status, Status::measured) << said.note;
  EXPECT_LE(said.interval->low, event_bytes(3));
  EXPECT_GE(said.interval->high, event_bytes(3));
}

}  // namespace
}  // namespace gputopo::evidence
