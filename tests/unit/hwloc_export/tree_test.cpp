#include "hwloc_export/tree.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sample.hpp"
#include "topology/check.hpp"

namespace gputopo::hwloc_export {
namespace {

const Identity identity{"cuda0", "0000:3b:00.0", "GPU-01234567-89ab-cdef-0123-456789abcdef"};

void draw_tree(const std::vector<Node>& nodes, const std::string& indent, std::string& text) {
  for (const Node& node : nodes) {
    text += indent + node.subtype + ": " + node.name + "\n";
    draw_tree(node.children, indent + "  ", text);
  }
}

std::string drawn(const Topology& topology) {
  std::string text;
  draw_tree(build_tree(topology, identity), "", text);
  return text;
}

TEST(BuildTree, NestsByScope) {
  EXPECT_EQ(drawn(sample()),
            "GPUMemory: HBM (139GB)\n"
            "  GPUCache: L2 (60MB)\n"
            "    GPUGPC: GPC x8\n"
            "      GPUCache: ConstL1.5 (128KB)\n"
            "      GPUSM: 132 SMs in all\n"
            "        GPUCache: L1d/Tex/RO (240KB)\n"
            "        GPUCache: ConstL1 (2KB)\n"
            "        GPUScratchpad: Shared (228KB)\n");
}

TEST(BuildTree, TheOrderOfTheMemoriesOnlyOrdersSiblings) {
  Topology t = sample();
  std::reverse(t.memories.begin(), t.memories.end());
  EXPECT_EQ(drawn(t),
            "GPUMemory: HBM (139GB)\n"
            "  GPUCache: L2 (60MB)\n"
            "    GPUGPC: GPC x8\n"
            "      GPUCache: ConstL1.5 (128KB)\n"
            "      GPUSM: 132 SMs in all\n"
            "        GPUScratchpad: Shared (228KB)\n"
            "        GPUCache: ConstL1 (2KB)\n"
            "        GPUCache: L1d/RO/Tex (240KB)\n");
}

TEST(BuildTree, SeparateCachesAreSeparateBoxesWithTheirCount) {
  // Kepler: L1 alone, four texture caches in an SM, L1.5 in each SM.
  Topology t = sample();
  t.gpu.sm_count = 13;
  t.gpu.memory_bus_bits = 320;
  for (Memory& m : t.memories) m.physical_cache = m.id;
  t.find("read_only")->physical_cache = "texture";
  t.find("texture")->instances_per_scope = 4;
  t.find("constant_l1_5")->scope = Scope::sm;
  t.find("constant_l1_5")->sm_groups.clear();
  EXPECT_EQ(drawn(t),
            "GPUMemory: Memory (139GB)\n"
            "  GPUCache: L2 (60MB)\n"
            "    GPUSM: SM x13\n"
            "      GPUCache: Tex/RO (240KB) x4\n"
            "      GPUCache: L1d (240KB)\n"
            "      GPUCache: ConstL1.5 (128KB)\n"
            "        GPUCache: ConstL1 (2KB)\n"
            "      GPUScratchpad: Shared (228KB)\n");
}

TEST(BuildTree, WhatTheGpuLacksIsNotShown) {
  Topology t = sample();
  t.find("l1")->attributes["size"].status = Status::not_supported;
  t.find("l1")->attributes["size"].value.reset();
  EXPECT_THAT(drawn(t), testing::HasSubstr("GPUCache: Tex/RO (240KB)"));
  EXPECT_THAT(drawn(t), testing::Not(testing::HasSubstr("L1d")));
}

TEST(BuildTree, AnUnknownSizeLeavesTheNameAlone) {
  Topology t = sample();
  t.find("l2")->attributes["size"].status = Status::inconclusive;
  EXPECT_THAT(drawn(t), testing::HasSubstr("GPUCache: L2\n"));
}

TEST(BuildTree, GroupsThatNothingNamesAreNoGpcs) {
  Topology t = sample();
  t.find("constant_l1_5")->scope = Scope::group;
  EXPECT_THAT(drawn(t), testing::HasSubstr("    GPUGroup: SM group x8\n"
                                           "      GPUCache: ConstL1.5 (128KB)\n"
                                           "      GPUSM: 132 SMs in all\n"));
  EXPECT_THAT(drawn(t), testing::Not(testing::HasSubstr("GPC")));
}

TEST(BuildTree, OtherGroupsThatNothingNamesHaveTheirOwnNumber) {
  Topology t = sample();
  t.find("constant_l1_5")->scope = Scope::group;
  Memory pairs;
  pairs.id = "instruction_l1";
  pairs.kind = Kind::cache;
  pairs.scope = Scope::group;
  for (std::uint32_t sm = 0; sm < 132; sm += 2) pairs.sm_groups.push_back({sm, sm + 1});
  t.memories.push_back(pairs);
  EXPECT_THAT(drawn(t), testing::HasSubstr("GPUGroup: SM group x8\n"));
  EXPECT_THAT(drawn(t), testing::HasSubstr("GPUCache: InstL1, 66 in all\n"));
}

TEST(BuildTree, WhoseSharersAreUnknownLiesInTheGpuWithoutClaims) {
  Topology t = sample();
  Memory& l1 = *t.find("l1");
  l1.scope.reset();
  l1.instances_per_scope = 4;  // of nobody knows what
  EXPECT_EQ(drawn(t),
            "GPUMemory: HBM (139GB)\n"
            "  GPUCache: L2 (60MB)\n"
            "    GPUCache: L1d/Tex/RO (240KB)\n"
            "    GPUGPC: GPC x8\n"
            "      GPUCache: ConstL1.5 (128KB)\n"
            "        GPUSM: 132 SMs in all\n"
            "          GPUCache: ConstL1 (2KB)\n"
            "          GPUScratchpad: Shared (228KB)\n");
}

TEST(BuildTree, PartsOfUnknownNumberHaveNone) {
  Topology t = sample();
  t.gpu.sm_count = 0;
  t.find("constant_l1_5")->sm_groups.clear();
  EXPECT_THAT(drawn(t), testing::HasSubstr("GPUGPC: GPC\n"));
  EXPECT_THAT(drawn(t), testing::HasSubstr("GPUSM: SM\n"));
}

TEST(BuildTree, CountsPartsByTheMapOfTheChip) {
  Topology t = sample();
  t.find("constant_l1_5")->sm_groups.clear();
  t.find("constant_l1_5")->scope = Scope::cpc;
  for (std::uint32_t sm = 0; sm < 132; ++sm) {
    SmPlace& place = t.sm_places.emplace_back();
    place.sm = sm;
    place.cpc = sm % 24;
  }
  EXPECT_THAT(drawn(t), testing::HasSubstr("GPUCPC: CPC x24\n"));
}

TEST(BuildTree, SmsAreCountedInEachGpcWhereGpcsAreAlike) {
  Topology t = sample();
  t.gpu.sm_count = 128;
  for (auto& group : t.find("constant_l1_5")->sm_groups) group.resize(16);
  EXPECT_THAT(drawn(t), testing::HasSubstr("GPUSM: SM x16\n"));
  t.gpu.sm_count = 130;  // two whose GPC isn't known
  EXPECT_THAT(drawn(t), testing::HasSubstr("GPUSM: 130 SMs in all\n"));
}

TEST(BuildTree, SidesOfTheL2LieInItWithTheirSms) {
  Topology t = sample();
  t.find("l2")->attributes["partition_size"] = estimate(30.0 * 1024 * 1024, "B");
  for (std::uint32_t sm = 0; sm < 132; ++sm) t.sm_places.push_back({sm, {}, {}, {}, sm % 4 == 0 ? 1U : 0U});
  EXPECT_THAT(drawn(t), testing::HasSubstr("  GPUCache: L2 (60MB)\n"
                                           "    GPUPartition: Side 0 (30MB): 99 SMs\n"
                                           "    GPUPartition: Side 1 (30MB): 33 SMs\n"
                                           "    GPUGPC: GPC x8\n"));
  for (SmPlace& place : t.sm_places) place.l2_partition = 0;
  EXPECT_THAT(drawn(t), testing::Not(testing::HasSubstr("Side")));
}

TEST(BuildTree, APartialResultStandsWithoutWhatWasNotMeasured) {
  Topology t = sample();
  std::erase_if(t.memories, [](const Memory& m) { return m.id != "l1" && m.id != "constant_l1"; });
  EXPECT_EQ(drawn(t),
            "GPUSM: SM x132\n"
            "  GPUCache: L1d (240KB)\n"
            "  GPUCache: ConstL1 (2KB)\n");
  t.memories.clear();
  EXPECT_EQ(drawn(t), "");
}

TEST(BuildTree, SimulatedIsWrittenOnTheOutermostBox) {
  Topology t = sample();
  t.provenance.simulated = true;
  EXPECT_THAT(drawn(t), testing::StartsWith("GPUMemory: HBM (139GB), simulated\n"));
}

std::size_t depth_of(const std::vector<Node>& nodes) {
  std::size_t deepest = 0;
  for (const Node& node : nodes) deepest = std::max(deepest, 1 + depth_of(node.children));
  return deepest;
}

std::size_t count_of(const std::vector<Node>& nodes) {
  std::size_t count = nodes.size();
  for (const Node& node : nodes) count += count_of(node.children);
  return count;
}

// hwloc's tools can't read back what is nested too deep, be it a chain of memories or one that physical caches close.
TEST(BuildTree, AFileThatNestsMemoriesWithoutEndIsDrawnFlat) {
  constexpr std::size_t memories = 256;
  for (const bool joined : {false, true})
    for (const bool backwards : {false, true}) {
      Topology t;
      for (std::size_t i = 0; i < memories; ++i) {
        Memory& m = t.memories.emplace_back();
        m.id = std::to_string(i);
        if (i + 1 < memories && (!joined || i % 2 == 0)) m.parent = std::to_string(i + 1);
        if (joined && i % 2 == 1 && i + 1 < memories) m.physical_cache = std::to_string(i + 1);
      }
      if (backwards) std::reverse(t.memories.begin(), t.memories.end());
      ASSERT_TRUE(check(t));
      const auto nodes = build_tree(t, identity);
      EXPECT_LE(depth_of(nodes), 8U);
      EXPECT_EQ(count_of(nodes), joined ? memories / 2 + 1 : memories);
    }
}

TEST(BuildTree, EveryMemoryAppearsOnceWhateverTheParentsSay) {
  // All assignments of parents and physical caches among four memories, circles and nonsense included.
  const std::string ids[] = {"l1", "texture", "l2", "device_memory", "absent"};
  for (std::size_t code = 0; code < 5UL * 5 * 5 * 5 * 4 * 4; ++code) {
    Topology t = sample();
    std::erase_if(t.memories, [](const Memory& m) {
      return m.id != "l1" && m.id != "texture" && m.id != "l2" && m.id != "device_memory";
    });
    std::size_t rest = code;
    for (int i = 0; i < 4; ++i, rest /= 5) t.find(ids[i])->parent = ids[rest % 5];
    t.find("l1")->physical_cache = ids[rest % 4];
    t.find("texture")->physical_cache = ids[rest / 4];
    if (!check(t)) continue;
    const std::string text = drawn(t);
    for (const char* name : {"L1d", "Tex", "L2", "HBM"}) {
      const std::size_t first = text.find(name);
      ASSERT_NE(first, text.npos) << code << "\n" << text;
      ASSERT_EQ(text.find(name, first + 1), text.npos) << code << "\n" << text;
    }
  }
}

}  // namespace
}  // namespace gputopo::hwloc_export
