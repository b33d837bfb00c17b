// What hwloc does to a topology afterwards: XML by both writers, dup, restrict, shared memory.
#include <cstdio>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hwloc/shmem.h>
#include <sys/mman.h>

#include "loaded.hpp"
#include "sample.hpp"
#include "store/simulated.hpp"

namespace gputopo::hwloc_export {
namespace {

unsigned memories_below(hwloc_obj_t object) {
  unsigned found = 0;
  for (hwloc_obj_t child = object->misc_first_child; child != nullptr; child = child->next_sibling)
    found += 1 + memories_below(child);
  return found;
}

// "1": libxml where hwloc has it; "0": hwloc's own reader and writer.
class XmlRoundTrip : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { setenv("HWLOC_LIBXML", GetParam(), 1); }
  void TearDown() override { unsetenv("HWLOC_LIBXML"); }
};

INSTANTIATE_TEST_SUITE_P(Libxml, XmlRoundTrip, testing::Values("0", "1"));

TEST_P(XmlRoundTrip, SavedLoadedAndSavedAgainIsEqual) {
  Loaded machine;
  machine.annotated(sample());
  const std::string once = machine.xml();
  EXPECT_THAT(once, testing::HasSubstr("ConstL1.5 (128KB)"));
  Loaded again(once);
  EXPECT_EQ(again.xml(), once);
}

TEST_P(XmlRoundTrip, EverySimulatedGpuSurvives) {
  ASSERT_FALSE(store::simulated_texts().empty());
  for (const auto& text : store::simulated_texts()) {
    Loaded machine;
    EXPECT_GT(machine.annotated(*store::simulated_topology(text.name), 0, true).objects_added, 0U) << text.name;
    const std::string once = machine.xml();
    Loaded again(once);
    EXPECT_EQ(again.xml(), once) << text.name;
  }
}

TEST_P(XmlRoundTrip, CharactersThatXmlEscapesComeBack) {
  Topology t = sample();
  t.gpu.name = R"(<GPU> & "friends" 'here')";
  t.find("shared")->id = "shared<&>\"'";
  t.find("l2")->attributes["size"].status = Status::lower_bound;
  Loaded machine;
  machine.annotated(t);
  Loaded again(machine.xml());
  EXPECT_EQ(again.xml(), machine.xml());
  EXPECT_EQ(info(again.annotated(t).device, "GPUModel"), t.gpu.name);
}

TEST_P(XmlRoundTrip, AnnotatingASavedTopologyAddsNothing) {
  Loaded machine;
  machine.annotated(sample());
  const std::string once = machine.xml();
  Loaded again(once);
  const Annotation done = again.annotated(sample(), 0, true);
  EXPECT_FALSE(done.created_device);
  EXPECT_EQ(done.objects_added + done.infos_added, 0U);
  EXPECT_EQ(again.xml(), once);
}

TEST(AfterAnnotate, ADuplicateHasItAll) {
  Loaded machine;
  machine.annotated(sample());
  hwloc_topology_t copy = nullptr;
  ASSERT_EQ(hwloc_topology_dup(&copy, machine.get()), 0);
  hwloc_topology_check(copy);
  hwloc_obj_t device = hwloc_get_next_osdev(copy, nullptr);
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(memories_below(device), 8U);
  hwloc_topology_destroy(copy);
}

TEST(AfterAnnotate, RestrictingToTheGpusSideKeepsIt) {
  Loaded machine;
  const Annotation done = machine.annotated(sample());
  hwloc_obj_t package = hwloc_get_non_io_ancestor_obj(machine.get(), done.device);
  hwloc_bitmap_t set = hwloc_bitmap_dup(package->cpuset);
  ASSERT_EQ(hwloc_topology_restrict(machine.get(), set, 0), 0);
  hwloc_bitmap_free(set);
  hwloc_topology_check(machine.get());
  EXPECT_EQ(machine.device_count(), 1U);
  EXPECT_EQ(machine.misc_count(), 8U);
}

TEST(AfterAnnotate, RestrictingToTheOtherSideAdaptsOrDropsItAsAsked) {
  for (const int adapt : {0, HWLOC_RESTRICT_FLAG_ADAPT_IO | HWLOC_RESTRICT_FLAG_ADAPT_MISC}) {
    Loaded machine;
    machine.annotated(sample());
    hwloc_bitmap_t set = hwloc_bitmap_dup(hwloc_get_obj_by_type(machine.get(), HWLOC_OBJ_PACKAGE, 1)->cpuset);
    ASSERT_EQ(hwloc_topology_restrict(machine.get(), set,
                                      static_cast<unsigned long>(adapt | HWLOC_RESTRICT_FLAG_REMOVE_CPULESS)),
              0);
    hwloc_bitmap_free(set);
    hwloc_topology_check(machine.get());
    EXPECT_EQ(machine.device_count(), adapt != 0 ? 1U : 0U);
  }
}

TEST(AfterAnnotate, SharedMemoryHasItAll) {
  Loaded machine;
  machine.annotated(sample());
  std::size_t length = 0;
  ASSERT_EQ(hwloc_shmem_topology_get_length(machine.get(), &length, 0), 0);
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  void* address = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(address, MAP_FAILED);
  munmap(address, length);
  ASSERT_EQ(hwloc_shmem_topology_write(machine.get(), fileno(file), 0, address, length, 0), 0);
  hwloc_topology_t adopted = nullptr;
  ASSERT_EQ(hwloc_shmem_topology_adopt(&adopted, fileno(file), 0, address, length, 0), 0);
  hwloc_obj_t device = hwloc_get_next_osdev(adopted, nullptr);
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(memories_below(device), 8U);
  hwloc_topology_destroy(adopted);
  std::fclose(file);
}

}  // namespace
}  // namespace gputopo::hwloc_export
