// hwloc's unmodified tools on a simulated GPU.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shell.hpp"
#include "store/simulated.hpp"

namespace gputopo {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string output(const std::string& command, const Variables& variables) {
  const Outcome outcome = run(command, variables);
  EXPECT_EQ(outcome.status, 0) << command << "\n" << outcome.output;
  return outcome.output;
}

TEST(Tools, LstopoDrawsTheNestedMemoriesAsText) {
  const std::string text = output("lstopo-no-graphics --of console -", simulating("h200"));
  EXPECT_THAT(text, HasSubstr("  CoProc(CUDA) \"cuda0\"\n"
                              "    Misc(GPUMemory) HBM (139GB), simulated\n"
                              "      Misc(GPUCache) L2 (60MB)\n"
                              "        Misc(GPUPartition) Side 0 (30MB): 66 SMs\n"
                              "        Misc(GPUPartition) Side 1 (30MB): 66 SMs\n"
                              "        Misc(GPUGPC) GPC x8\n"));
  EXPECT_THAT(text, HasSubstr("          Misc(GPUSM) 132 SMs in all\n"));
  EXPECT_THAT(text, HasSubstr("Misc(GPUCache) L1d/Tex/RO (240KB)\n"));
}

TEST(Tools, LstopoDrawsEveryFormat) {
  EXPECT_THAT(output("lstopo-no-graphics --of ascii -", simulating("h200")), HasSubstr("L1d/Tex/RO (240KB)"));
  EXPECT_THAT(output("lstopo-no-graphics --of svg -", simulating("h200")), HasSubstr("L1d/Tex/RO (240KB)"));
  if (!has_program("lstopo")) GTEST_SKIP() << "no lstopo with graphics";
  EXPECT_THAT(output("lstopo --of png -", simulating("h200")), StartsWith("\x89PNG"));
}

TEST(Tools, EverySimulatedGpuPassesHwlocsChecks) {
  ASSERT_FALSE(store::simulated_texts().empty());
  for (const auto& text : store::simulated_texts()) {
    const std::string drawn = output("lstopo-no-graphics --of console -", simulating(std::string(text.name)));
    EXPECT_THAT(drawn, HasSubstr(", simulated\n")) << text.name;
    EXPECT_THAT(drawn, testing::ContainsRegex("Misc\\(GPUSM\\) (SM x|[0-9]+ SMs in all)")) << text.name;
  }
}

TEST(Tools, HwlocInfoListsMemoriesWithTheirAttributes) {
  const std::string text = output("hwloc-info --descendants misc os=cuda0", simulating("h200"));
  EXPECT_THAT(text, HasSubstr("info GPUTopoId = l1\n"));
  EXPECT_THAT(text, HasSubstr("info SizeBytes = 246656\n"));
  EXPECT_THAT(text, HasSubstr("info Status = truth\n"));
  EXPECT_THAT(output("hwloc-info os=cuda0", simulating("h200")), HasSubstr("info GPUTopoL1dSize = 246656\n"));
}

TEST(Tools, HwlocCalcAndBindKnowTheGpuAndItsMemories) {
  const std::string near = output("hwloc-calc os=cuda0", simulating("h200"));
  EXPECT_THAT(near, StartsWith("0x"));
  EXPECT_EQ(output("hwloc-calc 'misc=L2 (60MB)'", simulating("h200")), near);
  EXPECT_EQ(output("hwloc-calc -N misc os=cuda0 2>/dev/null || hwloc-calc -N misc root", simulating("h200")), "10\n");
  EXPECT_EQ(output("hwloc-bind os=cuda0 -- echo here", simulating("h200")), "here\n");
}

TEST(Tools, AnUnknownNameChangesNothingAndIsNamedWhenVerbose) {
  Variables variables = simulating("h9000");
  EXPECT_THAT(output("lstopo-no-graphics --of console -", variables), Not(HasSubstr("Misc")));
  variables["HWLOC_COMPONENTS_VERBOSE"] = "1";
  EXPECT_THAT(output("lstopo-no-graphics --of console -", variables), HasSubstr("no simulated GPU is called 'h9000'"));
}

TEST(Tools, TheComponentCanBeSwitchedOff) {
  Variables variables = simulating("h200");
  variables["HWLOC_COMPONENTS"] = "-gputopo";
  EXPECT_THAT(output("lstopo-no-graphics --of console -", variables), Not(HasSubstr("Misc")));
}

TEST(Tools, TheExamplesRun) {
  Variables variables = simulating("h200");
  const std::string placement = output(GPUTOPO_BINARY_DIR "/examples/placement", variables);
  EXPECT_THAT(placement, HasSubstr("bound to CPUs 0x"));
  EXPECT_THAT(placement,
              HasSubstr("238464 bytes of L1 beside 16384 bytes of shared memory: tiles of 128 x 128 floats"));
  EXPECT_THAT(output(GPUTOPO_SOURCE_DIR "/docs/examples/gpu_caches.sh", variables),
              testing::ContainsRegex("constant_l1_5 +gpc +131072 B +104 cycles +truth"));
  const std::string gpu_caches = GPUTOPO_SOURCE_DIR "/docs/examples/gpu_caches.sh cuda0 ";
  EXPECT_EQ(output(gpu_caches + "l2 SizeBytes", variables), "62914560\n");
  EXPECT_THAT(output(gpu_caches + "constant_l1_5 SMs", variables), StartsWith("0-1,16-17,32-33,48-49,124-131\n2-3,"));
  EXPECT_NE(run(gpu_caches + "l3 SizeBytes", variables).status, 0);
  variables.erase("GPUTOPO_SIMULATE");
  EXPECT_NE(run(GPUTOPO_BINARY_DIR "/examples/placement", variables).status, 0);
  EXPECT_NE(run(GPUTOPO_SOURCE_DIR "/docs/examples/gpu_caches.sh", variables).status, 0);
}

TEST(Tools, XmlBySimulationLoadsWithoutTheComponent) {
  const std::string file = testing::TempDir() + "gputopo-simulated.xml";
  output("lstopo-no-graphics --of xml -f " + file, simulating("h200"));
  EXPECT_THAT(output("lstopo-no-graphics -i " + file + " --of console -", {}), HasSubstr("Misc(GPUCache) L2 (60MB)"));
  std::filesystem::remove(file);
}

TEST(Tools, TheCommandExportsTheSameObjects) {
  const std::string drawn = "lstopo-no-graphics --of console - | sed -n '/CoProc(CUDA)/,$p'";
  EXPECT_EQ(
      output(GPUTOPO_BINARY_DIR "/bin/gputopo export --hwloc-xml - | lstopo-no-graphics --if xml -i - --of console - | "
                                "sed -n '/CoProc(CUDA)/,$p'",
             {{"GPUTOPO_SIMULATE", "h200"}}),
      output(drawn, simulating("h200")));
}

}  // namespace
}  // namespace gputopo
