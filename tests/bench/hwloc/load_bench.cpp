// What the component costs a program: init, load and destroy of this machine's topology with it and without it, taken
// in turn in one run, so that whatever else the machine does falls on both.
//
//   hwloc_load_bench [ROUNDS]
//
// Times are CPU time of the process, which a busy machine doesn't stretch; the added wall time stands beside them.
// Cases: no GPU; a GPU with nothing stored; a stored GPU (an H200 with every carve-out, and one with the map of the
// chip as well); a simulated GPU. Exit status 1 where the median exceeds the budget: 0.1 ms without a GPU, 1 ms with.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <hwloc.h>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "store/simulated.hpp"
#include "store/store.hpp"

namespace {

namespace fs = std::filesystem;
constexpr const char* uuid = "GPU-aaaaaaaa-0000-0000-0000-000000000001";
const std::string stock = GPUTOPO_HWLOC_PLUGINS;

struct Case {
  const char* name;
  std::string component;
  std::string root;   // of the made-up machine
  std::string store;  // its store
  std::string simulate;
  double budget_ms;
};

void set(const char* name, const std::string& value) {
  if (value.empty())
    unsetenv(name);
  else
    setenv(name, value.c_str(), 1);
}

struct Times {
  std::vector<double> wall_ms, cpu_ms;
};

double now_ms(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

void load(Times& times) {
  const double wall = now_ms(CLOCK_MONOTONIC), cpu = now_ms(CLOCK_PROCESS_CPUTIME_ID);
  hwloc_topology_t topology = nullptr;
  hwloc_topology_init(&topology);
  hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  hwloc_topology_set_type_filter(topology, HWLOC_OBJ_MISC, HWLOC_TYPE_FILTER_KEEP_ALL);
  if (hwloc_topology_load(topology) != 0) std::exit(2);
  hwloc_topology_destroy(topology);
  times.wall_ms.push_back(now_ms(CLOCK_MONOTONIC) - wall);
  times.cpu_ms.push_back(now_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu);
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double median_difference(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < a.size(); ++i) differences.push_back(a[i] - b[i]);
  return median(differences);
}

// `empty` is a folder without a component: looking into one more folder is the path's cost, not ours.
bool run(const Case& c, const std::string& empty, int rounds) {
  set("GPUTOPO_TEST_ROOT", c.root);
  set("GPUTOPO_STORE", c.store);
  set("GPUTOPO_SIMULATE", c.simulate);
  Times without, with;
  for (int i = 0; i < rounds; ++i) {
    set("HWLOC_PLUGINS_PATH", empty + ":" + stock);
    load(without);
    set("HWLOC_PLUGINS_PATH", c.component + ":" + stock);
    load(with);
  }
  const double added = median_difference(with.cpu_ms, without.cpu_ms);
  std::printf("%-24s %8.3f %8.3f %8.3f %8.3f %7.3f %8.1f  %s\n", c.name, median(without.cpu_ms), median(with.cpu_ms),
              added, median_difference(with.wall_ms, without.wall_ms), median(with.cpu_ms) / median(without.cpu_ms),
              c.budget_ms, added <= c.budget_ms ? "yes" : "NO");
  return added <= c.budget_ms;
}

void write(const std::string& path, const std::string& text) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path) << text;
}

void keep(const std::string& folder, bool with_map) {
  gputopo::Topology t = *gputopo::store::simulated_topology("h200");
  t.provenance.simulated = false;
  t.provenance.driver_version = "580.159.04";
  t.gpu.uuid = uuid;
  for (std::uint32_t sm = 0; with_map && sm < t.gpu.sm_count; ++sm) {
    gputopo::SmPlace& place = t.sm_places.emplace_back();
    place.sm = sm;
    place.tpc = sm / 2;
    place.cpc = sm / 6;
    place.gpc = sm / 16;
    place.l2_partition = sm % 2;
  }
  gputopo::store::Environment environment;
  environment.user = geteuid();
  environment.store = folder;
  if (!gputopo::store::save(t, environment)) std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 300;
  std::string pattern = fs::temp_directory_path() / "gputopo-bench-XXXXXX";
  const std::string base = mkdtemp(pattern.data());
  const std::string root = base + "/root";
  write(root + "/sys/module/nvidia/version", "580.159.04\n");
  write(root + "/proc/driver/nvidia/gpus/0000:3b:00.0/information", fmt::format("GPU UUID: {}\n", uuid));
  keep(base + "/store", false);
  keep(base + "/map", true);
  fs::create_directory(base + "/empty");
  const std::string real = GPUTOPO_BINARY_DIR "/lib/hwloc", test = GPUTOPO_BINARY_DIR "/tests/hwloc-plugin";

  std::printf("%-24s %8s %8s %8s %8s %7s %8s  %s\n", "median of init+load, ms", "without", "with", "added", "(wall)",
              "ratio", "budget", "within");
  bool within = true;
  for (const Case& c : {Case{"no GPU", real, "", base + "/empty", "", 0.1},
                        Case{"GPU, nothing stored", test, root, base + "/empty", "", 1},
                        Case{"stored GPU", test, root, base + "/store", "", 1},
                        Case{"stored GPU with map", test, root, base + "/map", "", 1},
                        Case{"simulated GPU", real, "", base + "/empty", "h200", 1}})
    within = run(c, base + "/empty", rounds) && within;
  fs::remove_all(base);
  return within ? 0 : 1;
}
