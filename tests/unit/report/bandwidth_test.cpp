// The table of bandwidths: which rows there are, and what its legend says of bounds.
#include "report/bandwidth.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gputopo::report {
namespace {

using testing::HasSubstr;
using testing::Not;

Memory named(const char* id, const char* label) {
  Memory m;
  m.id = id;
  m.label = label;
  return m;
}

Estimate rate(double value, Status status, const char* method) {
  Estimate e;
  e.value = value;
  e.unit = "B/s";
  e.status = status;
  e.method = method;
  return e;
}

std::vector<std::vector<std::string>> texts(const BandwidthTable& table) {
  std::vector<std::vector<std::string>> all;
  for (const auto& row : table.rows) {
    auto& cells = all.emplace_back();
    for (const Cell& cell : row) cells.push_back(cell.text);
  }
  return all;
}

TEST(BandwidthTable, HasARowForEachKindOfAccessThatIsKnown) {
  Topology t;
  Memory l2 = named("l2", "L2 cache"), device = named("device_memory", "Device memory");
  l2.attributes["read_bandwidth"] = rate(9.1e12, Status::lower_bound, "brief_search");
  l2.attributes["shared_read_bandwidth"] = rate(2.1e13, Status::measured, "search");
  l2.attributes["far_write_bandwidth"] = rate(2.5e12, Status::measured, "lines by home");
  device.attributes["to_host_bandwidth"] = rate(5.54e10, Status::measured, "search");
  device.attributes["latency"] = rate(1, Status::measured, "none");
  t.memories = {l2, device, named("shared", "Shared memory")};
  EXPECT_EQ(texts(bandwidth_table(t, false, false)),
            (std::vector<std::vector<std::string>>{{"L2", ">=9.1 TB/s", "-", "-"},
                                                   {"L2, the same bytes for all", "21 TB/s", "-", "-"},
                                                   {"L2, far", "-", "2.5 TB/s", "-"},
                                                   {"Host link, to the host and from it", "55.4 GB/s", "-", "-"}}));
}

TEST(BandwidthTable, SaysWhatABriefSearchIsAndNothingOfOtherBounds) {
  Topology t;
  t.memories = {named("l1", "L1 data cache")};
  Estimate& read = t.memories[0].attributes["read_bandwidth"] = rate(3.3e13, Status::lower_bound, "brief_search");
  EXPECT_THAT(bandwidth_table(t, true, true).legend, HasSubstr(at_least_legend));
  read.method = "search";  // beside another program
  EXPECT_THAT(bandwidth_table(t, true, true).legend, Not(HasSubstr("--deep")));
}

TEST(BandwidthTable, IsEmptyWhereNoneIsKnown) {
  Topology t;
  t.memories = {named("l1", "L1 data cache")};
  EXPECT_TRUE(bandwidth_table(t, true, true).rows.empty());
}

}  // namespace
}  // namespace gputopo::report
