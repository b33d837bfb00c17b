// TPCs, CPCs and GPCs of an H200 with fewer SMs, of which some take no part in clusters of more than two blocks.
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "device/sim/model.hpp"
#include "tests/sim/organisation/found.hpp"

namespace gputopo::test {
namespace {

TEST(ChipParts, OfAModelComeBackBothWays) {
  auto text = nlohmann::json::parse(std::ifstream(std::string(GPUTOPO_SOURCE_DIR) + "/probes/models/h200.json"));
  text["gpu"]["sm_count"] = 24;
  text["groups"] = {
      {"tpc", 2},
      {"cpc", {{0, 1, 4, 5}, {2, 3, 10, 11}, {6, 7, 8, 9}, {12, 13, 18, 19, 20, 21}, {14, 15, 16, 17, 22, 23}}},
      {"gpc", 12},
      {"cluster", {{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9}, {10, 11}, {12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}}},
      {"partition", 12}};
  const auto model = sim::parse_model(text.dump(), "few");
  ASSERT_TRUE(model) << model.error().message;
  const Topology found = discovered_deep(*model, {});
  EXPECT_EQ(found.find("instruction_l1")->scope, Scope::tpc);
  EXPECT_EQ(found.find("tlb_l2")->scope, Scope::cpc);
  EXPECT_EQ(found.find("constant_l1_5")->scope, Scope::gpc);
  EXPECT_EQ(found.find("instruction_l1_5")->scope, Scope::gpc);
  EXPECT_GT(found.find("tlb_l2")->find("cpc_separation")->value.value_or(0), 0);
  const Topology truth = sim::truth(*model);
  ASSERT_EQ(found.sm_places.size(), truth.sm_places.size());
  for (std::size_t sm = 0; sm < truth.sm_places.size(); ++sm) {
    EXPECT_EQ(found.sm_places[sm].tpc, truth.sm_places[sm].tpc) << sm;
    EXPECT_EQ(found.sm_places[sm].gpc, truth.sm_places[sm].gpc) << sm;
    for (std::size_t other = 0; other < sm; ++other)
      EXPECT_EQ(found.sm_places[sm].cpc == found.sm_places[other].cpc,
                truth.sm_places[sm].cpc == truth.sm_places[other].cpc)
          << sm << ' ' << other;
  }
}

}  // namespace
}  // namespace gputopo::test
