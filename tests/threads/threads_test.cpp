// What programs do in several threads at once: load topologies with the component, save and read the store, measure
// several GPUs and stop. Made for the thread sanitizer.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <hwloc.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/sim/sim_device.hpp"
#include "experiments/discover.hpp"
#include "store/store.hpp"

namespace gputopo {
namespace {

constexpr unsigned thread_count = 8;

template <class Work>
void at_once(const Work& work) {
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < thread_count; ++i) threads.emplace_back([&work, i] { work(i); });
  for (std::thread& thread : threads) thread.join();
}

// Loads a small machine's topology with the component and counts what it brought.
int loaded_memories() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return -1;
  hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  hwloc_topology_set_type_filter(topology, HWLOC_OBJ_MISC, HWLOC_TYPE_FILTER_KEEP_ALL);
  hwloc_topology_set_synthetic(topology, "numa:1 core:2 pu:1");
  const int count = hwloc_topology_load(topology) == 0
                        ? hwloc_get_nbobjs_by_depth(topology, static_cast<int>(HWLOC_TYPE_DEPTH_MISC))
                        : -1;
  hwloc_topology_destroy(topology);
  return count;
}

// HWLOC_PLUGINS_PATH is read once, when the first topology of the process is made.
void simulate() {
  setenv("HWLOC_PLUGINS_PATH", GPUTOPO_COMPONENT_FOLDER, 1);
  setenv("GPUTOPO_SIMULATE", "h200", 1);
  setenv("HWLOC_ANNOTATE_GLOBAL_COMPONENTS", "1", 1);  // also of a machine that isn't this one
}

TEST(Threads, TopologiesLoadedAtOnceAllHaveTheGpu) {
  simulate();
  at_once([](unsigned) {
    for (int i = 0; i < 50; ++i) EXPECT_EQ(loaded_memories(), 10);
  });
}

// hwloc unloads its components with the last topology and loads them again with the next.
TEST(Threads, AThousandLoadsAndUnloadsOfTheComponent) {
  simulate();
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(loaded_memories(), 10) << i;
}

Topology part(const std::string& id) {
  Topology t;
  t.provenance.device = "cuda";
  t.provenance.driver_version = "580.1";
  t.provenance.created = "2026-01-02T03:04:05Z";
  t.gpu.uuid = "GPU-01234567-89ab-cdef-0123-456789abcdef";
  t.memories.resize(1);
  t.memories[0].id = id;
  t.memories[0].attributes["size"] = {1024, "B", Status::measured, "residency", {}, {}, 1, {}};
  return t;
}

TEST(Threads, SavingAndReadingAtOnceLosesNothing) {
  std::string folder = testing::TempDir() + "gputopo-threads-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  store::Environment environment;
  environment.user = geteuid();
  environment.store = folder;
  at_once([&](unsigned i) {
    for (int round = 0; round < 10; ++round) {
      EXPECT_TRUE(store::save(part("memory_" + std::to_string(i)), environment));
      const auto found = store::load(part("").gpu.uuid, "580.1", environment);
      ASSERT_TRUE(found.topology);
      EXPECT_NE(found.topology->find("memory_" + std::to_string(i)), nullptr);
    }
  });
  EXPECT_EQ(store::load(part("").gpu.uuid, "580.1", environment).topology->memories.size(), thread_count);
  std::filesystem::remove_all(folder);
}

TEST(Threads, GpusAreMeasuredAtOnce) {
  std::vector<Topology> found(thread_count);
  at_once([&](unsigned i) {
    auto model = sim::builtin_model("gt200");
    ASSERT_TRUE(model);
    const auto device = sim::make_device(*model);
    experiments::DiscoverOptions options;
    options.only = {"shared", "constant_l1"};
    auto topology = experiments::discover(*device, options);
    ASSERT_TRUE(topology) << topology.error().message;
    found[i] = std::move(*topology);
  });
  for (const Topology& t : found) EXPECT_EQ(t.memories, found[0].memories);
}

TEST(Threads, OneThreadStopsWhatTheOthersMeasure) {
  std::atomic<bool> stop{false};
  std::atomic<unsigned> interrupted{0};
  std::thread user([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    stop = true;
  });
  at_once([&](unsigned) {
    auto model = sim::builtin_model("h200");
    ASSERT_TRUE(model);
    const auto device = sim::make_device(*model);
    experiments::DiscoverOptions options;
    options.stop = &stop;
    const auto topology = experiments::discover(*device, options);
    if (!topology && topology.error().kind == Error::Kind::interrupted) ++interrupted;
  });
  user.join();
  EXPECT_EQ(interrupted, thread_count);
}

}  // namespace
}  // namespace gputopo
