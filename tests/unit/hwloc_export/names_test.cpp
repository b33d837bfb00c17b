#include "hwloc_export/names.hpp"

#include <gtest/gtest.h>

#include "sample.hpp"

namespace gputopo::hwloc_export {
namespace {

TEST(SizeText, RoundsDownAndNeverPromisesMoreThanThereIs) {
  constexpr double kib = 1024;
  EXPECT_EQ(size_text(0), "0B");
  EXPECT_EQ(size_text(96), "96B");
  EXPECT_EQ(size_text(2048), "2KB");
  EXPECT_EQ(size_text(240.875 * kib), "240KB");
  EXPECT_EQ(size_text(1024 * kib - 1), "1023KB");
  EXPECT_EQ(size_text(5.5 * kib * kib), "5.5MB");
  EXPECT_EQ(size_text(1.99 * kib * kib), "1.9MB");
  EXPECT_EQ(size_text(60 * kib * kib), "60MB");
  EXPECT_EQ(size_text(139.8 * kib * kib * kib), "139GB");
  EXPECT_EQ(size_text(1152921504606846976.0), "1048576TB");
}

TEST(SizeSuffix, SaysBoundsAndLeavesOutWhatIsUnknown) {
  Estimate e = estimate(64000, "B", Status::lower_bound);
  EXPECT_EQ(size_suffix(&e), " (>62KB)");
  e.status = Status::upper_bound;
  EXPECT_EQ(size_suffix(&e), " (<62KB)");
  e.status = Status::inconclusive;
  EXPECT_EQ(size_suffix(&e), "");
  e.value.reset();
  e.status = Status::measured;
  EXPECT_EQ(size_suffix(&e), "");
  EXPECT_EQ(size_suffix(nullptr), "");
}

TEST(ShortName, HbmByTheWidthOfTheBus) {
  const Memory m = memory("device_memory", Kind::memory, Scope::gpu, "", 1);
  Gpu gpu;
  EXPECT_EQ(short_name(m, gpu), "Memory");
  gpu.memory_bus_bits = 384;
  EXPECT_EQ(short_name(m, gpu), "Memory");
  gpu.memory_bus_bits = 5120;
  EXPECT_EQ(short_name(m, gpu), "HBM");
}

TEST(ShortName, AMemoryNobodyHeardOfHasItsLabelOrId) {
  Memory m = memory("victim_cache", Kind::cache, Scope::gpu, "", 1);
  EXPECT_EQ(short_name(m, Gpu{}), "victim_cache");
  m.label = "Victim cache";
  EXPECT_EQ(short_name(m, Gpu{}), "Victim cache");
  EXPECT_EQ(attribute_name_part(m), "VictimCache");
}

TEST(InfoName, JoinsTheWordsAndTheUnit) {
  EXPECT_EQ(info_name("size", "B"), "SizeBytes");
  EXPECT_EQ(info_name("miss_penalty", "cycles"), "MissPenaltyCycles");
  EXPECT_EQ(info_name("read_bandwidth", "B/cycle"), "ReadBandwidthBytesPerCycle");
  EXPECT_EQ(info_name("banks", ""), "Banks");
  EXPECT_EQ(info_name("power", "m W"), "PowerMW");
}

TEST(SmList, HasRanges) {
  EXPECT_EQ(sm_list({17, 0, 1, 16}), "0-1,16-17");
  EXPECT_EQ(sm_list({5}), "5");
  EXPECT_EQ(sm_list({}), "");
}

TEST(NumberText, KeepsWholeNumbersWhole) {
  EXPECT_EQ(number_text(246656), "246656");
  EXPECT_EQ(number_text(150110011392.0), "150110011392");
  EXPECT_EQ(number_text(38.25), "38.25");
  EXPECT_EQ(number_text(1.0 / 3), "0.333333");
}

}  // namespace
}  // namespace gputopo::hwloc_export
