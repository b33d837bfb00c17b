#include "report/text.hpp"

#include <limits>

#include <gtest/gtest.h>

#include "example.hpp"
#include "report/chip_map.hpp"

namespace gputopo::report {
namespace {

TEST(EarlierRuns, AreNamedWithTheirMemoriesAndConditions) {
  Topology t;
  EXPECT_EQ(earlier_runs_text(t), "");
  t.memories.resize(4);
  for (std::size_t i = 0; i < 4; ++i) t.memories[i].id = "m" + std::to_string(i);
  t.earlier_runs.resize(3);
  t.earlier_runs[0].created = t.memories[1].created = t.memories[3].created = "2026-01-01T00:00:00Z";
  t.earlier_runs[1].created = t.memories[2].created = "2026-01-02T00:00:00Z";
  t.earlier_runs[1].shared_gpu = "somebody";
  t.earlier_runs[1].device = "replay";
  t.earlier_runs[2].created = "2026-01-03T00:00:00Z";
  EXPECT_EQ(earlier_runs_text(t),
            "From earlier runs: m1, m3 (2026-01-01T00:00:00Z); m2 (2026-01-02T00:00:00Z, replayed from a recording, "
            "when others used the GPU).");
}

TEST(Text, ASharedGpuIsSaidInOneLine) {
  Provenance p;
  EXPECT_EQ(shared_gpu_text(p), "");
  p.interruptions = Interruptions{0, 0, 210, 0, 0};
  EXPECT_EQ(shared_gpu_text(p), "") << "a device that looks and sees nothing";
  p.interruptions = Interruptions{12, 34.5, 210, 5, 1};
  EXPECT_EQ(shared_gpu_text(p),
            "The GPU was shared: 12 switches to other work seen (34.5 ms away), 5 of 210 programs run again, "
            "1 undecided.");
  p.interruptions = Interruptions{1, 2, 210, 0, 0};
  EXPECT_EQ(shared_gpu_text(p),
            "The GPU was shared: 1 switch to other work seen (2 ms away), 0 of 210 programs run again.");
  p.interruptions.reset();
  p.shared_gpu = "two programs\nran";
  EXPECT_EQ(shared_gpu_text(p), "The GPU was shared: two programs?ran");
}

TEST(Text, SizesAreExactWithABinaryUnitBeside) {
  EXPECT_EQ(size_text(0), "0 B");
  EXPECT_EQ(size_text(32), "32 B");
  EXPECT_EQ(size_text(1023), "1023 B");
  EXPECT_EQ(size_text(2048), "2 KiB");
  EXPECT_EQ(size_text(246656), "240.9 KiB (246656 B)");
  EXPECT_EQ(size_text(62914560), "60 MiB");
  EXPECT_EQ(size_text(62914561), "60.0 MiB (62914561 B)");
  EXPECT_EQ(size_text(1048575), "1024.0 KiB (1048575 B)");
  EXPECT_EQ(size_text(150754820096.0), "140.4 GiB (150754820096 B)");
}

TEST(Text, BriefSizesRoundOnlyWhereTheySaySo) {
  for (const auto& [bytes, text] : {std::pair{246656.0, "240.875 KiB"},
                                    {62914560.0, "60 MiB"},
                                    {1280.0, "1.25 KiB"},
                                    {96.0, "96 B"},
                                    {150323855360.0, "140 GiB"}}) {
    EXPECT_EQ(brief_size_text(bytes), text);
    EXPECT_TRUE(is_brief_exact(bytes)) << text;
  }
  EXPECT_EQ(brief_size_text(150754820096.0), "140.4 GiB");
  EXPECT_FALSE(is_brief_exact(150754820096.0));
  EXPECT_EQ(brief_size_text(2080), "2.0 KiB");
  EXPECT_FALSE(is_brief_exact(2080));
}

TEST(Text, NumbersHaveAtMostOneDecimal) {
  EXPECT_EQ(number_text(38), "38");
  EXPECT_EQ(number_text(38.04), "38");
  EXPECT_EQ(number_text(281.46), "281.5");
  EXPECT_EQ(number_text(-0.01), "0");
  EXPECT_EQ(number_text(1e300), "1e+300");
  EXPECT_EQ(number_text(std::numeric_limits<double>::quiet_NaN()), "?");
  EXPECT_EQ(number_text(std::numeric_limits<double>::infinity()), "?");
}

TEST(Text, WidthCountsCharactersNotBytes) {
  EXPECT_EQ(display_width("≥ 64 KiB¹"), 9U);
  EXPECT_EQ(display_width(""), 0U);
}

TEST(Text, LinesBreakAtSpacesAndAreIndented) {
  EXPECT_EQ(wrap("one two three four", 9, 2), (std::vector<std::string>{"one two", "  three", "  four"}));
  EXPECT_EQ(wrap("unbreakable", 3, 2), (std::vector<std::string>{"unbreakable"}));
  EXPECT_TRUE(wrap("", 9, 2).empty());
}

TEST(Text, HeadlinesSayWhetherTheGpuIsReal) {
  Topology t = example();
  EXPECT_EQ(headline(t), "NVIDIA Test (real GPU)");
  t.provenance.simulated = true;
  t.provenance.device = "sim";
  EXPECT_EQ(headline(t), "NVIDIA Test (simulated)");
  t.provenance.device = "replay";
  EXPECT_EQ(headline(t), "NVIDIA Test (replayed from a recording of a simulated GPU)");
  EXPECT_EQ(gpu_facts(t), "compute capability 9.0, 132 SMs at 1980 MHz, driver 580.1");
  t.provenance.kernels = "ptx";
  EXPECT_EQ(gpu_facts(t), "compute capability 9.0, 132 SMs at 1980 MHz, driver 580.1, kernels assembled by the driver");
  EXPECT_EQ(gpu_facts(Topology{}), "");
}

TEST(Text, SmListsUseRanges) {
  EXPECT_EQ(sm_list({17, 0, 1, 16, 5}), "0-1 5 16-17");
  EXPECT_EQ(sm_list({}), "");
}

}  // namespace
}  // namespace gputopo::report
