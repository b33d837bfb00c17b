// The component on a made-up machine: the kernel's files from a fixture folder, hwloc's view from XML.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "shell.hpp"
#include "store/simulated.hpp"
#include "store/store.hpp"
#include "topology/json.hpp"

namespace gputopo {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

constexpr const char* driver = "580.159.04";

class MachineTest : public testing::Test {
 protected:
  MachineTest() {
    std::string pattern = testing::TempDir() + "gputopo-machine-XXXXXX";
    base_ = mkdtemp(pattern.data());
    fs::permissions(base_, fs::perms{0755});
    fs::create_directory(store());
    write(base_ + "/root/sys/module/nvidia/version", std::string(driver) + "\n");
    add_gpu("0000:3b:00.0", "GPU-aaaaaaaa-0000-0000-0000-000000000001");
  }
  ~MachineTest() override { fs::remove_all(base_); }

  static void write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path) << text;
  }
  void add_gpu(const std::string& bus_id, const std::string& uuid) const {
    write(base_ + "/root/proc/driver/nvidia/gpus/" + bus_id + "/information",
          "Model: \t\t NVIDIA H200\nGPU UUID: \t " + uuid + "\nBus Location: \t " + bus_id + "\n");
  }
  // An H200 as measured on this machine.
  static Topology measured(const std::string& uuid, const std::string& bus_id) {
    Topology t = *store::simulated_topology("h200");
    t.provenance.simulated = false;
    t.provenance.device = "cuda";
    t.provenance.driver_version = driver;
    t.gpu.uuid = uuid;
    t.gpu.pci_bus_id = bus_id;
    return t;
  }
  void keep(const Topology& t) const {
    store::Environment environment;
    environment.user = geteuid();
    environment.store = store();
    const auto saved = store::save(t, environment);
    ASSERT_TRUE(saved) << saved.error().message;
  }
  void keep_first() const { keep(measured(first_uuid, "0000:3b:00.0")); }

  Variables variables() const {
    return {{"HWLOC_PLUGINS_PATH", plugins(test_component)},
            {"GPUTOPO_TEST_ROOT", base_ + "/root"},
            {"GPUTOPO_STORE", store()},
            {"HWLOC_XMLFILE", two_gpus},
            {"HWLOC_ANNOTATE_GLOBAL_COMPONENTS", "1"},
            {"HWLOC_DEBUG_CHECK", "1"}};
  }
  std::string lstopo(const Variables& more = {}, const std::string& options = "") const {
    Variables all = more;
    all.merge(variables());
    const Outcome outcome = run("lstopo-no-graphics " + options + " --of console -", all);
    EXPECT_EQ(outcome.status, 0) << outcome.output;
    return outcome.output;
  }
  static std::string stock() { return run("lstopo-no-graphics --of console -", {{"HWLOC_XMLFILE", two_gpus}}).output; }

  std::string store() const { return base_ + "/store"; }
  std::string first_file() const { return store() + "/" + first_uuid + ".json"; }
  const std::string& base() const { return base_; }
  static constexpr const char* first_uuid = "GPU-aaaaaaaa-0000-0000-0000-000000000001";

 private:
  std::string base_;
};

TEST_F(MachineTest, AStoredGpuIsDrawnUnderItsPciDevice) {
  keep_first();
  EXPECT_THAT(lstopo(), HasSubstr("      PCI 3b:00.0 (3D)\n"
                                  "        CoProc(CUDA) \"cuda0\"\n"
                                  "          Misc(GPUMemory) HBM (139GB)\n"
                                  "            Misc(GPUCache) L2 (60MB)\n"));
}

TEST_F(MachineTest, NothingStoredMeansNothingAddedAndAHintWhenVerbose) {
  EXPECT_EQ(lstopo(), stock());
  EXPECT_THAT(lstopo({{"HWLOC_COMPONENTS_VERBOSE", "1"}}),
              HasSubstr("GPU 0000:3b:00.0: nothing stored for GPU-aaaaaaaa-0000-0000-0000-000000000001; run gputopo "
                        "discover --all-gpus --save"));
}

TEST_F(MachineTest, WhatIsRefusedIsNotCalledMissing) {
  write(first_file(), "{");
  const std::string said = lstopo({{"HWLOC_COMPONENTS_VERBOSE", "1"}});
  EXPECT_THAT(said, HasSubstr(first_file() + ": "));
  EXPECT_THAT(said, HasSubstr("; run gputopo discover --all-gpus --save again"));
  EXPECT_THAT(said, Not(HasSubstr("nothing stored")));
}

TEST_F(MachineTest, TheSecondGpuKeepsItsNumberWithoutTheFirst) {
  add_gpu("0000:c1:00.0", "GPU-bbbbbbbb-0000-0000-0000-000000000002");
  keep(measured("GPU-bbbbbbbb-0000-0000-0000-000000000002", "0000:c1:00.0"));
  const std::string drawn = lstopo();
  EXPECT_THAT(drawn, HasSubstr("      PCI c1:00.0 (3D)\n        CoProc(CUDA) \"cuda1\"\n"));
  EXPECT_THAT(drawn, Not(HasSubstr("cuda0")));
}

TEST_F(MachineTest, AGpuThatMovedToAnotherSlotIsFoundThere) {
  fs::remove_all(base() + "/root/proc/driver/nvidia/gpus");
  add_gpu("0000:c1:00.0", first_uuid);
  keep_first();
  EXPECT_THAT(lstopo(), HasSubstr("      PCI c1:00.0 (3D)\n        CoProc(CUDA) \"cuda0\"\n"));
}

TEST_F(MachineTest, AnotherDriverMeansNothingAdded) {
  keep_first();
  write(base() + "/root/sys/module/nvidia/version", "999.1\n");
  EXPECT_EQ(lstopo(), stock());
  EXPECT_THAT(lstopo({{"HWLOC_COMPONENTS_VERBOSE", "1"}}), HasSubstr("measured under driver 580.159.04"));
}

TEST_F(MachineTest, AGpuWithoutUuidYetIsLeftAlone) {
  keep_first();
  add_gpu("0000:3b:00.0", std::string("GPU-") + std::string(8, '?'));
  EXPECT_EQ(lstopo(), stock());
  EXPECT_THAT(lstopo({{"HWLOC_COMPONENTS_VERBOSE", "1"}}), HasSubstr("run nvidia-smi once"));
}

TEST_F(MachineTest, AnotherMachinesXmlIsNotAnnotatedUnasked) {
  keep_first();
  Variables own = variables();
  own.erase("HWLOC_ANNOTATE_GLOBAL_COMPONENTS");
  EXPECT_EQ(run("lstopo-no-graphics --of console -", own).output, stock());
}

TEST_F(MachineTest, AGpuThatTheTopologyLacksIsNotAddedToAnotherMachine) {
  fs::remove_all(base() + "/root/proc/driver/nvidia/gpus");
  add_gpu("0000:99:00.0", first_uuid);
  keep_first();
  EXPECT_EQ(lstopo(), stock());
}

TEST_F(MachineTest, OnThisMachineAGpuWithoutPciObjectsHangsOffTheMachine) {
  keep_first();
  Variables own = variables();
  own.erase("HWLOC_XMLFILE");
  own.erase("HWLOC_ANNOTATE_GLOBAL_COMPONENTS");
  const std::string drawn = run("lstopo-no-graphics --filter pci:none --of console -", own).output;
  EXPECT_THAT(drawn, HasSubstr("CoProc(CUDA) \"cuda0\"\n"));
  EXPECT_THAT(drawn, HasSubstr("Misc(GPUCache) L2 (60MB)\n"));
}

TEST_F(MachineTest, OnThisMachineAGpuWithoutPciObjectsHangsOffTheCpusNearIt) {
  keep_first();
  write(base() + "/root/sys/bus/pci/devices/0000:3b:00.0/local_cpulist", "2-3\n");
  Variables own = variables();
  own.erase("HWLOC_XMLFILE");
  own["HWLOC_SYNTHETIC"] = "pack:2 pu:2";
  own["HWLOC_THISSYSTEM"] = "1";
  EXPECT_THAT(run("lstopo-no-graphics --of console -", own).output,
              HasSubstr("  Package L#1\n    PU L#2 (P#2)\n    PU L#3 (P#3)\n    CoProc(CUDA) \"cuda0\"\n"));
}

TEST_F(MachineTest, WithoutIoThereIsNothing) {
  keep_first();
  EXPECT_THAT(lstopo({}, "--no-io"), Not(HasSubstr("Misc")));
}

TEST_F(MachineTest, AnnotatingASavedTopologyAgainAddsNothing) {
  keep_first();
  const std::string saved = base() + "/saved.xml", again = base() + "/again.xml";
  ASSERT_EQ(run("lstopo-no-graphics " + saved, variables()).status, 0);
  Variables own = variables();
  own["HWLOC_XMLFILE"] = saved;
  ASSERT_EQ(run("lstopo-no-graphics " + again, own).status, 0);
  EXPECT_EQ(run("diff " + saved + " " + again, {}).output, "");
  EXPECT_EQ(run("grep -c GPUTopoId " + again, {}).output, "10\n");
}

TEST_F(MachineTest, TheNumberOfCoprocessorsDoesNotChange) {
  // hwloc with its CUDA backend: the device is there already.
  std::ifstream in(two_gpus);
  std::string xml{std::istreambuf_iterator<char>(in), {}};
  const std::size_t device = xml.find("</object>", xml.find("0000:3b:00.0"));
  xml.insert(device, R"(<object type="OSDev" gp_index="200" name="cuda0" subtype="CUDA" osdev_type="5"/>)");
  write(base() + "/cuda.xml", xml);
  Variables own = variables();
  own["HWLOC_XMLFILE"] = base() + "/cuda.xml";
  EXPECT_EQ(run("hwloc-calc -N coproc root", own).output, "1\n");
  keep_first();
  EXPECT_EQ(run("hwloc-calc -N coproc root", own).output, "1\n");
  EXPECT_THAT(run("lstopo-no-graphics --of console -", own).output, HasSubstr("Misc(GPUCache) L2 (60MB)"));
}

TEST_F(MachineTest, NothingIsPrintedUnlessVerbose) {
  keep_first();
  EXPECT_THAT(run(hosts + "/load", variables()).output, testing::MatchesRegex("devices=1 misc=10 grown=[-0-9]+\n"));
  write(first_file(), "{broken");
  EXPECT_THAT(run(hosts + "/load", variables()).output, testing::MatchesRegex("devices=0 misc=0 grown=[-0-9]+\n"));
}

TEST_F(MachineTest, HostileFilesInTheStoreChangeNothing) {
  keep_first();
  const std::string good = run("cat " + first_file(), {}).output;
  const std::string before = stock();
  const auto expect_ignored = [&](const char* what) { EXPECT_EQ(lstopo(), before) << what; };
  for (const std::string& text : {std::string(), std::string("[]"), std::string(2000000, ' '), std::string(900000, '['),
                                  good.substr(0, good.size() / 2), "\xff" + good}) {
    write(first_file(), text);
    expect_ignored("contents");
  }
  std::string umlaut = good;
  umlaut.replace(umlaut.find("NVIDIA H200"), 6, "NVIDI\xc3\x84");
  write(first_file(), umlaut);
  expect_ignored("a name that isn't ASCII");
  write(first_file(), good);
  ASSERT_NE(lstopo(), before);
  chmod(first_file().c_str(), 0666);
  expect_ignored("a file that all can write");
  chmod(first_file().c_str(), 0644);
  chmod(store().c_str(), 0777);
  expect_ignored("a folder that all can write");
  chmod(store().c_str(), 0755);
  fs::rename(first_file(), base() + "/elsewhere.json");
  ASSERT_EQ(symlink((base() + "/elsewhere.json").c_str(), first_file().c_str()), 0);
  expect_ignored("a symbolic link");
  fs::remove(first_file());
  ASSERT_EQ(mkfifo(first_file().c_str(), 0644), 0);
  expect_ignored("a FIFO");
}

TEST_F(MachineTest, NoAllocationThatFailsEndsTheHost) {
  Variables own = variables();
  own.erase("HWLOC_XMLFILE");
  own["HWLOC_SYNTHETIC"] = "pu:1";
  own["HWLOC_THISSYSTEM"] = own["HWLOC_COMPONENTS_VERBOSE"] = "1";
  own["HWLOC_COMPONENTS"] = "-gputopo";  // the host does hwloc's part
  const std::string starved = hosts + "/starved " + test_component + "/hwloc_gputopo.so ";
  const auto expect_survival = [&](const std::string& how, const std::string& memories) {
    EXPECT_THAT(run(starved + how + " 2>/dev/null", own).output,
                testing::MatchesRegex("ends=0 allocations=[1-9][0-9][0-9]+ misc=0\\.\\." + memories + "\n"))
        << how;
  };
  Topology small = measured(first_uuid, "0000:3b:00.0");
  small.memories.resize(1);
  keep(small);
  for (const char* how : {"alone on", "alone one", "early on", "late on"}) expect_survival(how, "[1-9]");
  // The ways out of a reader that refuses.
  const std::string good = run("cat " + first_file(), {}).output;
  write(first_file(), good.substr(0, good.size() / 2));
  expect_survival("alone on", "0");
  std::string odd = good;
  odd.replace(odd.find("\"memories\":["), 12, "\"memories\":3,\"x\":[");
  write(first_file(), odd);
  expect_survival("alone on", "0");
  expect_survival("late one", "0");
}

TEST_F(MachineTest, ManyLoadsLeaveNothingOnTheHeap) {
  keep_first();
  Variables own = variables();
  own["HWLOC_PLUGINS_PATH"] = test_component;             // Debian's libxml plugin leaks half a KiB a load by itself
  own["GLIBC_TUNABLES"] = "glibc.malloc.tcache_count=0";  // the cache's own chunks count as in use
  EXPECT_EQ(run(hosts + "/load 1000", own).output, "devices=1 misc=10 grown=0\n");
  own["GPUTOPO_SIMULATE"] = "a100";
  EXPECT_THAT(run(hosts + "/load 200", own).output, testing::MatchesRegex("devices=2 misc=[0-9]+ grown=0\n"));
  write(first_file(), "{\"broken\":");
  own.erase("GPUTOPO_SIMULATE");
  EXPECT_EQ(run(hosts + "/load 1000", own).output, "devices=0 misc=0 grown=0\n");
}

}  // namespace
}  // namespace gputopo
