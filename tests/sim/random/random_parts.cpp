#include "random_parts.hpp"

#include <fmt/format.h>

namespace gputopo::test {
namespace {

using Json = nlohmann::json;

// Whole TPCs dealt to up to three groups, which may end up of different sizes.
Json uneven_groups(Draw& draw, std::uint32_t sm_count, std::uint32_t tpc) {
  const std::uint32_t tpcs = sm_count / tpc;
  std::vector<std::vector<std::uint32_t>> groups(std::min(tpcs, draw.whole(1, 3)));
  for (std::uint32_t i = 0; i < tpcs; ++i) {
    // Each group gets one first.
    auto& group = groups[i < groups.size() ? i : draw.below(static_cast<std::uint32_t>(groups.size()))];
    for (std::uint32_t sm = 0; sm < tpc; ++sm) group.push_back(i * tpc + sm);
  }
  return groups;
}

}  // namespace

double Drawn::ratio(double most) {
  return draw.scaled(least_ratio, draw.chance(0.4) ? 1.25 * least_ratio : most);
}

Json Drawn::beyond(double own_cycles, double extra_cycles) {
  double latency = own_cycles;
  // What a path adds it adds to every level; each stays slower than the one before.
  const auto next = [&](double cycles) {
    latency = std::max(cycles, std::ceil(2 * least_ratio * latency) / 2);
    return latency;
  };
  Json levels = Json::array();
  double more = extra_cycles;
  if (has_l2) {
    Json level = {{"level", "l2"}, {"latency", next(l2_cycles + extra_cycles)}};
    more = latency - l2_cycles;
    if (l2_far_cycles > 0) level["far_latency"] = next(l2_far_cycles + more);
    if (!l2_tlbs.empty()) level["tlbs"] = l2_tlbs;
    levels.push_back(level);
    if (l3_cycles > 0) levels.push_back({{"level", "l3"}, {"latency", next(l3_cycles + more)}});
  }
  levels.push_back({{"level", "device_memory"}, {"latency", next(memory_cycles + more)}});
  return levels;
}

Json Drawn::through(const std::string& cache, double own_cycles, double extra_cycles) {
  Json levels = beyond(own_cycles, extra_cycles);
  levels.insert(levels.begin(), Json{{"level", cache}, {"latency", own_cycles}});
  return levels;
}

double Drawn::first_level_cycles(double least) {
  return cycles_before(has_l2 ? l2_cycles : memory_cycles, 8, least);
}

double Drawn::cycles_before(double next_cycles, double most_ratio, double least) {
  return std::max(least, std::floor(2 * next_cycles / ratio(most_ratio)) / 2);
}

void draw_gpu(Drawn& d, std::uint64_t seed) {
  const std::uint32_t tpc = d.draw.one_of({1U, 2U, 2U, 2U, 3U});
  d.sm_count = tpc * d.draw.whole(2, 8);
  d.model["schema"] = "gputopo-model/1";
  d.model["name"] = fmt::format("random-{}", seed);
  d.model["gpu"] = {{"name", fmt::format("Random {}", seed)},
                    {"compute_capability", "9.0"},
                    {"sm_count", d.sm_count},
                    {"clock_khz", d.draw.whole(800, 2200) * 1000},
                    {"memory", "2 GiB"}};
  d.model["groups"] = {{"tpc", tpc}, {"gpc", uneven_groups(d.draw, d.sm_count, tpc)}};
  d.l2_cycles = d.draw.cycles(100, 400);
  const double l3_ratio = d.ratio(2.5);
  d.memory_cycles = std::ceil(2 * d.l2_cycles * l3_ratio) / 2;
}

}  // namespace gputopo::test
