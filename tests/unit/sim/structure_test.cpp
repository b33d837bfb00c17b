// Structures that the built-in models don't show: groups of SMs, chiplets, a cache behind the L2, slices at steps.
#include <set>

#include <gmock/gmock.h>

#include "tests/unit/sim/walks.hpp"

namespace gputopo::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Three units share a scalar cache, two chiplets have an L2 each, an L3 lies behind both; no noise.
constexpr std::string_view chiplets = R"({
  "schema": "gputopo-model/1",
  "gpu": {"name": "Chiplets", "sm_count": 6, "memory": "1 GiB"},
  "groups": {"gpc": [[0, 2, 4], [1, 3, 5]]},
  "caches": {
    "l1": {"size": "2 KiB", "line": 128},
    "scalar": {"size": "4 KiB", "line": 64, "shared_by": 3},
    "l2": {"size": "64 KiB", "line": 128, "scope": "gpc"},
    "l3": {"size": "256 KiB", "line": 128, "scope": "gpu"}
  },
  "tlbs": {"pair": {"page": "4 KiB", "entries": 4, "miss_penalty": 40, "shared_by": 2}},
  "paths": {
    "global_cached": [{"level": "l1", "latency": 30}, {"level": "l2", "latency": 200}, {"level": "l3", "latency": 300},
                      {"level": "device_memory", "latency": 500}],
    "global_l2_only": [{"level": "l2", "latency": 200, "tlbs": ["pair"]}, {"level": "l3", "latency": 300},
                       {"level": "device_memory", "latency": 500}],
    "global_no_allocate": true,
    "constant": [{"level": "scalar", "latency": 40}, {"level": "l2", "latency": 180},
                 {"level": "l3", "latency": 280}, {"level": "device_memory", "latency": 480}]
  }
})";

// What `second` sees, load by load, of what SM 0 has read before.
std::vector<std::uint32_t> seen_by(device::Device& device, std::uint32_t second, Path path, std::uint64_t bytes,
                                   std::uint64_t stride) {
  const auto space = path == Path::constant ? program::Space::constant : program::Space::global;
  auto after = walk(path, bytes, stride, Record::latencies);
  after.agent = 1;
  auto p = program_of({walk(path, bytes, stride, Record::nothing), after}, bytes, space);
  p.agents = {{0, 0}, {second, 0}};
  return run_one(device, p).phases[1].latencies;
}

TEST(Chiplets, AListedGroupSharesACacheAndOthersDoNot) {
  for (std::uint32_t sm = 1; sm < 6; ++sm) {
    const auto device = make_device(model_of(chiplets));
    const std::uint32_t expected = sm < 3 ? 40 : sm % 2 == 0 ? 180 : 280;
    EXPECT_THAT(seen_by(*device, sm, Path::constant, 64, 64), ElementsAre(expected)) << sm;
  }
}

TEST(Chiplets, EachHasAnL2AndAllShareWhatLiesBehind) {
  const auto device = make_device(model_of(chiplets));
  EXPECT_THAT(seen_by(*device, 2, Path::global_l2_only, 128, 128), ElementsAre(240));
  EXPECT_THAT(seen_by(*device, 1, Path::global_l2_only, 128, 128), ElementsAre(300)) << "SM 0's TLB, the other L2";
  EXPECT_THAT(seen_by(*device, 4, Path::global_no_allocate, 128, 128), ElementsAre(200))
      << "what an SM doesn't keep its chiplet's L2 does";
}

TEST(Chiplets, ATlbOfTwoSmsIsFilledByEither) {
  const auto device = make_device(model_of(chiplets));
  const auto by_neighbour = seen_by(*device, 1, Path::global_l2_only, 16 << 10, 4096);
  const auto by_stranger = seen_by(*make_device(model_of(chiplets)), 2, Path::global_l2_only, 16 << 10, 4096);
  EXPECT_THAT(by_neighbour, ElementsAre(300, 300, 300, 300));
  EXPECT_THAT(by_stranger, ElementsAre(240, 240, 240, 240));
}

TEST(Chiplets, TruthNamesGroupsAndWhatLiesBehind) {
  const Topology t = truth(model_of(chiplets));
  EXPECT_EQ(t.find("constant_l1")->sm_groups, (SmSets{{0, 1, 2}, {3, 4, 5}}));
  EXPECT_EQ(t.find("l2")->sm_groups, (SmSets{{0, 2, 4}, {1, 3, 5}}));
  EXPECT_EQ(t.find("l2")->find("miss_penalty")->value, 100);
  EXPECT_EQ(t.find("device_memory")->find("latency")->value, 500);
  EXPECT_EQ(t.find("constant_l1_5")->find("size")->status, Status::not_supported);
  EXPECT_THAT(remarks(model_of(chiplets)), ElementsAre(HasSubstr("behind the L2: l3 of 262144 B at 300 cycles"),
                                                       HasSubstr("TLB pair: reaches 16384 B")));
}

TEST(Distance, OfSlicesComesInStepsAndIsTheSameForEverySm) {
  Model model = model_of(chiplets);
  model.distance.slice_cycles = 40;
  model.distance.steps = 5;
  const auto device = make_device(model);
  const auto latencies = [&](std::uint32_t sm) {
    auto p = program_of({walk(Path::global_l2_only, 16 << 10, 128, Record::nothing),
                         walk(Path::global_l2_only, 16 << 10, 128, Record::latencies)},
                        16 << 10);
    p.agents = {{sm, 0}};
    return run_one(*device, p).phases[1].latencies;
  };
  const auto first = latencies(0);
  EXPECT_THAT(std::set<std::uint32_t>(first.begin(), first.end()), ElementsAre(160, 180, 200, 220, 240));
  EXPECT_EQ(latencies(1), first);
  model.distance = {};
  model.distance.sm_cycles = 40;
  const auto other = make_device(model);
  auto p = program_of({walk(Path::global_l2_only, 16 << 10, 128, Record::nothing),
                       walk(Path::global_l2_only, 16 << 10, 128, Record::latencies)},
                      16 << 10);
  const auto continuous = run_one(*other, p).phases[1].latencies;
  EXPECT_GT(std::set<std::uint32_t>(continuous.begin(), continuous.end()).size(), 40U);
  double sum = 0;
  for (const std::uint32_t latency : continuous) sum += latency;
  EXPECT_NEAR(sum / static_cast<double>(continuous.size()), 200, 8);
}

}  // namespace
}  // namespace gputopo::sim
