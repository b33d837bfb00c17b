#include "hwloc_export/infos.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sample.hpp"

namespace gputopo::hwloc_export {
namespace {

using testing::Contains;
using testing::Not;
using testing::Pair;

std::vector<Info> infos_of(const Topology& t, const std::vector<std::string>& ids) {
  std::vector<const Memory*> members;
  for (const std::string& id : ids) members.push_back(t.find(id));
  return memory_infos(t, members);
}

TEST(MemoryInfos, CarryValueUnitAndHowItWasFound) {
  const auto infos = infos_of(sample(), {"l1"});
  EXPECT_THAT(infos, Contains(Pair("GPUTopoId", "l1")));
  EXPECT_THAT(infos, Contains(Pair("SizeBytes", "246656")));
  EXPECT_THAT(infos, Contains(Pair("LineSizeBytes", "128")));
  EXPECT_THAT(infos, Contains(Pair("LatencyCycles", "38")));
  EXPECT_THAT(infos, Contains(Pair("LatencyNs", "19.00")));
  EXPECT_THAT(infos, Contains(Pair("Status", "measured")));
  EXPECT_THAT(infos, Contains(Pair("Method", "residency")));
  EXPECT_THAT(infos, Contains(Pair("Confidence", "0.99")));
  EXPECT_THAT(infos, Contains(Pair("Scope", "sm")));
  EXPECT_THAT(infos, Contains(Pair("InstancesPerSM", "1")));
  EXPECT_THAT(infos, Contains(Pair("SharedBySMs", "1")));
}

TEST(MemoryInfos, ASizeThatCountersConfirmedSaysSo) {
  Topology t = sample();
  t.find("l1")->attributes["size"].note = "confirmed by counters";
  EXPECT_THAT(infos_of(t, {"l1"}), Contains(Pair("Confidence", "confirmed by counters")));
  t.find("l1")->attributes["size"].status = Status::inconclusive;
  EXPECT_THAT(infos_of(t, {"l1"}), Contains(Pair("Confidence", "0.99")));
}

TEST(MemoryInfos, AMemoryOfAnEarlierRunHasItsOwnDate) {
  Topology t = sample();
  EXPECT_THAT(infos_of(t, {"l1", "texture"}), Not(Contains(Pair("Created", testing::_))));
  t.find("texture")->created = "2025-12-24T18:00:00Z";
  EXPECT_THAT(infos_of(t, {"l1", "texture"}), Contains(Pair("texture.Created", "2025-12-24T18:00:00Z")));
}

TEST(MemoryInfos, OtherNamesOfOneCacheKeepTheirOwnNumbers) {
  const auto infos = infos_of(sample(), {"l1", "texture", "read_only"});
  EXPECT_THAT(infos, Contains(Pair("GPUTopoAlso", "texture read_only")));
  EXPECT_THAT(infos, Contains(Pair("texture.LatencyCycles", "87")));
  EXPECT_THAT(infos, Contains(Pair("read_only.SizeBytes", "246656")));
  EXPECT_THAT(infos, Not(Contains(Pair("read_only.LatencyCycles", testing::_))));
}

TEST(MemoryInfos, AStatementThatDiffersFromTheSizesIsWritten) {
  Topology t = sample();
  t.find("l1")->attributes["latency"].method = "lap";
  const auto infos = infos_of(t, {"l1"});
  EXPECT_THAT(infos, Contains(Pair("LatencyMethod", "lap")));
  EXPECT_THAT(infos, Contains(Pair("LatencyStatus", "measured")));
  EXPECT_THAT(infos, Not(Contains(Pair("LineSizeMethod", testing::_))));
}

TEST(MemoryInfos, ABoundIsNeverCalledTheValue) {
  Topology t = sample();
  t.find("l1")->attributes["size"].status = Status::lower_bound;
  EXPECT_THAT(infos_of(t, {"l1"}), Contains(Pair("SizeAtLeastBytes", "246656")));
  EXPECT_THAT(infos_of(t, {"l1"}), Not(Contains(Pair("SizeBytes", testing::_))));
  t.find("l1")->attributes["size"].status = Status::upper_bound;
  EXPECT_THAT(infos_of(t, {"l1"}), Contains(Pair("SizeAtMostBytes", "246656")));
  t.find("l1")->attributes["size"].status = Status::inconclusive;
  EXPECT_THAT(infos_of(t, {"l1"}), Not(Contains(Pair(testing::StartsWith("Size"), testing::_))));
  EXPECT_THAT(infos_of(t, {"l1"}), Contains(Pair("Status", "inconclusive")));
}

TEST(MemoryInfos, AnIntervalThatIsNot95PercentSaysSo) {
  Topology t = sample();
  Estimate& size = t.find("l1")->attributes["size"];
  size.interval = Interval{246528, 246784};
  EXPECT_THAT(infos_of(t, {"l1"}), Contains(Pair("SizeIntervalBytes", "246528 246784")));
  EXPECT_THAT(infos_of(t, {"l1"}), Not(Contains(Pair("SizeIntervalKind", testing::_))));
  size.interval_kind = "range";
  EXPECT_THAT(infos_of(t, {"l1"}), Contains(Pair("SizeIntervalKind", "range")));
}

TEST(MemoryInfos, UnequalGroupsOfSmsAreARange) {
  EXPECT_THAT(infos_of(sample(), {"constant_l1_5"}), Contains(Pair("SharedBySMs", "16-18")));
  EXPECT_THAT(infos_of(sample(), {"l2"}), Contains(Pair("SharedBySMs", "132")));
}

TEST(MemoryInfos, SaysHowTheScopeWasFound) {
  Topology t = sample();
  EXPECT_THAT(infos_of(t, {"l1"}), Not(Contains(Pair("ScopeMethod", testing::_))));
  t.find("l1")->structure["scope"].method = "eviction";
  EXPECT_THAT(infos_of(t, {"l1"}), Contains(Pair("ScopeMethod", "eviction")));
}

TEST(MemoryInfos, ClaimNoStructureThatWasNotMeasured) {
  Topology t = sample();
  t.find("l1")->instances_per_scope.reset();
  EXPECT_THAT(infos_of(t, {"l1"}), Contains(Pair("Scope", "sm")));
  EXPECT_THAT(infos_of(t, {"l1"}), Not(Contains(Pair(testing::StartsWith("InstancesPer"), testing::_))));
  t.find("l1")->instances_per_scope = 1;
  t.find("l1")->scope.reset();
  t.find("l1")->structure["scope"].method = "eviction";
  for (const char* name : {"Scope", "ScopeMethod", "SharedBySMs", "InstancesPerSM", "InstancesPerScope"})
    EXPECT_THAT(infos_of(t, {"l1"}), Not(Contains(Pair(name, testing::_))));
}

TEST(MemoryInfos, TheCarveOutsAreSortedPairs) {
  Topology t = sample();
  for (const double shared : {32768.0, 8192.0}) {
    CarveOut& c = t.find("l1")->carve_outs.emplace_back();
    c.shared_bytes = estimate(shared, "B");
    c.usable_bytes = estimate(254848 - shared, "B");
  }
  EXPECT_THAT(infos_of(t, {"l1"}), Contains(Pair("UsableBytesByCarveOut", "8192:246656 32768:222080")));
}

TEST(FlatInfos, HaveUsableValuesInBytesAndCycles) {
  Topology t = sample();
  t.find("constant_l1_5")->attributes["size"].status = Status::lower_bound;
  const auto infos = flat_infos(t);
  EXPECT_THAT(infos, Contains(Pair("GPUTopoL1dSize", "246656")));
  EXPECT_THAT(infos, Contains(Pair("GPUTopoL1dLatencyCycles", "38")));
  EXPECT_THAT(infos, Contains(Pair("GPUTopoTexLatencyCycles", "87")));
  EXPECT_THAT(infos, Contains(Pair("GPUTopoSharedSize", "233472")));
  EXPECT_THAT(infos, Contains(Pair("GPUTopoSource", "cuda")));
  EXPECT_THAT(infos, Contains(Pair("GPUTopoUUID", t.gpu.uuid)));
  EXPECT_THAT(infos, Not(Contains(Pair("GPUTopoConstL15Size", testing::_))));
}

TEST(DeviceInfos, FollowHwlocsCudaBackend) {
  const auto infos = device_infos(sample(), false);
  EXPECT_THAT(infos, Contains(Pair("GPUModel", "NVIDIA Sample")));
  EXPECT_THAT(infos, Contains(Pair("CUDAL2CacheSize", "61440")));
  EXPECT_THAT(infos, Contains(Pair("CUDAMultiProcessors", "132")));
  EXPECT_THAT(infos, Contains(Pair("CUDACoresPerMP", "128")));
  EXPECT_THAT(infos, Contains(Pair("CUDASharedMemorySizePerMP", "228")));
  EXPECT_THAT(device_infos(sample(), true), Contains(Pair("CUDAL2CacheSize", "61440KiB")));
}

TEST(DeviceInfos, SayOnceThatAGpuIsSimulated) {
  Topology t = sample();
  t.provenance.simulated = true;
  EXPECT_THAT(device_infos(t, false), Contains(Pair("GPUModel", "NVIDIA Sample (simulated)")));
  t.gpu.name = "simulated Sample";
  EXPECT_THAT(device_infos(t, false), Contains(Pair("GPUModel", "simulated Sample")));
}

}  // namespace
}  // namespace gputopo::hwloc_export
