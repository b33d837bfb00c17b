// SMs that share a constant L1.5: by what code on one of them takes from the others, and what is lost without any.
#include <algorithm>

#include <gtest/gtest.h>

#include "answering_device.hpp"
#include "evidence/inference/estimates.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {
namespace {

constexpr std::uint32_t here_cycles = 100, gone_cycles = 300;

/// Whether the constant of `sm` is gone in that launch, after code on SM `running` or, without, after none.
using Gone = std::function<bool(std::uint32_t sm, std::optional<std::uint32_t> running, std::size_t launch)>;

Memory groups_where(const Gone& gone) {
  std::size_t launch = 0;
  AnsweringDevice device(
      [&](const program::Program& p, const program::Walk& walk, std::size_t) {
        std::optional<std::uint32_t> running;
        for (const program::Phase& phase : p.phases)
          if (const auto* code = std::get_if<program::Execute>(&phase)) running = *p.agents[code->agent].sm;
        if (walk.agent == 0) ++launch;
        return gone(*p.agents[walk.agent].sm, running, launch) ? gone_cycles : here_cycles;
      },
      4);
  device.change_info().has_execute = true;
  device.change_info().execute_limit_bytes = 1 << 20;
  device.change_info().constant_modules = 1;
  device.change_info().constant_bytes_per_module = 64 << 10;
  Session session(device, {});
  Findings findings;
  findings.caches["constant_l1"].capacity_bytes = 2048;
  evidence::CacheFacts& cache = findings.caches["constant_l1_5"];
  cache.present = true;
  cache.line_bytes = 64;
  cache.levels = evidence::levels_of({{here_cycles, 1000}}, {{gone_cycles, 1000}});
  findings.memory("constant_l1_5").attributes["size"] = evidence::measured(128 << 10, "B", "misses", 1);
  EXPECT_TRUE(measure_constant_l1_5_groups(session, findings).has_value());
  return findings.memory("constant_l1_5");
}

using Groups = std::vector<std::vector<std::uint32_t>>;

bool share(std::uint32_t a, std::uint32_t b) {
  return a / 2 == b / 2;
}

TEST(ConstantL15Groups, AreThoseThatLoseTheirsToOneAnothersCode) {
  const Memory found =
      groups_where([](std::uint32_t sm, auto running, std::size_t) { return running && share(sm, *running); });
  EXPECT_EQ(found.sm_groups, (Groups{{0, 1}, {2, 3}}));
}

// A stranger in one launch of twenty changes nothing.
TEST(ConstantL15Groups, AreTheSameBesideStrangers) {
  const Memory found = groups_where([](std::uint32_t sm, auto running, std::size_t launch) {
    return (running && share(sm, *running)) || (sm == 3 && launch % 20 == 2);
  });
  EXPECT_EQ(found.sm_groups, (Groups{{0, 1}, {2, 3}}));
}

// What gets lost in most launches, with code and without any, isn't lost to the code.
TEST(ConstantL15Groups, DontGrowByConstantsThatGetLostByThemselves) {
  const Memory found = groups_where([](std::uint32_t sm, auto running, std::size_t launch) {
    return (running && share(sm, *running)) || (sm == 3 && launch % 5 != 0);
  });
  EXPECT_TRUE(found.sm_groups.empty() || found.sm_groups == (Groups{{0, 1}, {2, 3}}));
}

}  // namespace
}  // namespace gputopo::experiments
