// The table of metrics against CUPTI's own lists. Needs CUPTI but no GPU.
#include "counters/host.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "counters/locate.hpp"
#include "counters/metrics.hpp"

namespace gputopo::counters {
namespace {

class Host : public ::testing::Test {
 protected:
  void SetUp() override {
    auto cupti = Cupti::load(cupti_candidates());
    if (!cupti) GTEST_SKIP() << cupti.error().message;
    cupti_ = std::make_unique<Cupti>(std::move(*cupti));
    // The host side works without a GPU, whatever this says.
    auto begin = sized<CUpti_Profiler_Initialize_Params>(CUpti_Profiler_Initialize_Params_STRUCT_SIZE);
    cupti_->cuptiProfilerInitialize(&begin);
  }
  std::unique_ptr<Cupti> cupti_;
};

TEST_F(Host, EveryChipOfTheTableHasEveryMetricInThePassesStated) {
  const auto known = supported_chips(*cupti_);
  ASSERT_TRUE(known) << known.error().message;
  std::size_t checked = 0;
  for (const Chip& chip : chips()) {
    // An older CUPTI doesn't know the newest chips, a newer one may have dropped the oldest.
    if (std::find(known->begin(), known->end(), chip.name) == known->end()) continue;
    for (const MemoryMetrics& m : chip.memories) {
      Metrics metrics{std::string(m.loads), std::string(m.misses)};
      std::erase(metrics, "");
      const auto schedule = Schedule::make(*cupti_, std::string(chip.name), {}, metrics);
      ASSERT_TRUE(schedule) << schedule.error().message;
      EXPECT_EQ((*schedule)->passes(), m.passes) << chip.name << ' ' << m.memory;
      ++checked;
    }
  }
  EXPECT_GE(checked, 10 * 9U) << "so few chips that the test says next to nothing";
}

TEST_F(Host, EveryChipCountsReadAndWrittenBytesInOnePassEach) {
  const auto known = supported_chips(*cupti_);
  ASSERT_TRUE(known) << known.error().message;
  std::size_t checked = 0;
  for (const Chip& chip : chips()) {
    if (std::find(known->begin(), known->end(), chip.name) == known->end()) continue;
    for (const ByteMetrics& m : chip.bytes)
      for (const std::string_view metric : {m.given, m.taken}) {
        if (metric.empty()) continue;
        const auto schedule = Schedule::make(*cupti_, std::string(chip.name), {}, {std::string(metric)});
        ASSERT_TRUE(schedule) << schedule.error().message;
        EXPECT_EQ((*schedule)->passes(), 1U) << chip.name << ' ' << metric;
        ++checked;
      }
    // The traffic benchmark counts both at once.
    const ByteMetrics& dram = *chip.find_bytes("device_memory");
    const auto both =
        Schedule::make(*cupti_, std::string(chip.name), {}, {std::string(dram.given), std::string(dram.taken)});
    ASSERT_TRUE(both) << both.error().message;
    EXPECT_EQ((*both)->passes(), 1U) << chip.name;
  }
  EXPECT_GE(checked, 10 * 10U);
}

TEST_F(Host, EveryChipCountsEachSlicesAtomicsInOnePass) {
  const auto known = supported_chips(*cupti_);
  ASSERT_TRUE(known) << known.error().message;
  std::size_t checked = 0;
  for (const Chip& chip : chips()) {
    if (std::find(known->begin(), known->end(), chip.name) == known->end()) continue;
    const std::string name(slice_atomics);
    const auto schedule =
        Schedule::make(*cupti_, std::string(chip.name), {}, {name + ".sum", name + ".max", name + ".avg"});
    ASSERT_TRUE(schedule) << schedule.error().message;
    EXPECT_EQ((*schedule)->passes(), 1U) << chip.name;
    ++checked;
  }
  EXPECT_GE(checked, 10U);
}

TEST_F(Host, TheChipsOfDataCentresAndDesktopsAreKnownToCupti) {
  const auto known = supported_chips(*cupti_);
  ASSERT_TRUE(known);
  for (const char* chip : {"TU102", "GA100", "GA102", "AD102", "GH100"}) EXPECT_THAT(*known, ::testing::Contains(chip));
}

TEST_F(Host, UnknownMetricsAndChipsAreErrors) {
  const auto metric = Schedule::make(*cupti_, "GH100", {}, {"idc__requests.sum", "l1__no_such_metric.sum"});
  ASSERT_FALSE(metric);
  EXPECT_THAT(metric.error().message, ::testing::HasSubstr("a GH100 has no counter 'l1__no_such_metric.sum'"));
  const auto chip = Schedule::make(*cupti_, "XX100", {}, {"idc__requests.sum"});
  ASSERT_FALSE(chip);
  EXPECT_THAT(chip.error().message, ::testing::HasSubstr("can't count on a XX100"));
}

TEST_F(Host, HitsAndMissesOfTheL2TakeTwoPasses) {
  const auto both =
      Schedule::make(*cupti_, "GH100", {},
                     {"lts__t_sectors_srcunit_tex_lookup_hit.sum", "lts__t_sectors_srcunit_tex_lookup_miss.sum"});
  ASSERT_TRUE(both);
  EXPECT_EQ((*both)->passes(), 2U);
}

}  // namespace
}  // namespace gputopo::counters
