#include "random_translation.hpp"

#include <array>
#include <bit>

#include <fmt/format.h>

#include "tests/sim/random/draw.hpp"

namespace gputopo::test {
namespace {

using Json = nlohmann::json;

// Sets times ways, or sets that differ.
void arrange_sets(Draw& draw, Json& tlb, std::uint32_t entries) {
  if (entries <= 256 && draw.chance(0.35)) {
    tlb["entries"] = entries;  // fully associative
  } else if (entries >= 32 && draw.chance(0.15)) {
    const std::uint32_t sets = draw.whole(3, 8), ways = entries / sets / 2 + 1;
    Json each = Json::array();
    for (std::uint32_t i = 1; i < sets; ++i) each.push_back(ways);
    each.insert(each.begin(), entries - (sets - 1) * ways);
    tlb["entries"] = entries;
    tlb["set_ways"] = each;
  } else {
    const std::uint32_t ways = draw.one_of({4U, 6U, 8U, 12U, 16U});
    std::uint32_t sets = std::max(1U, entries / ways);
    if (draw.chance(0.7)) sets = std::bit_floor(sets);
    tlb["entries"] = sets * ways;
    tlb["ways"] = ways;
  }
  tlb["index"] = draw.one_of<const char*>({"modulo", "modulo", "xor", "hash"});
  tlb["replacement"] = draw.one_of<const char*>({"lru", "lru", "lru", "fifo", "random", "tree_plru"});
}

}  // namespace

Json random_translation(std::uint64_t seed) {
  Draw draw(seed ^ 0x7472616e736c6174ULL);
  Json model = {
      {"schema", "gputopo-model/1"},
      {"name", fmt::format("translation-{}", seed)},
      {"gpu", {{"name", "Random"}, {"sm_count", 8}, {"memory", "64 GiB"}, {"clock_khz", 1500000}}},
      {"groups", {{"tpc", 2}, {"gpc", 4}}},
      {"caches", {{"l2", {{"size", "4 MiB"}, {"line", draw.one_of({64, 128})}, {"ways", 16}, {"scope", "gpu"}}}}}};
  constexpr std::array<const char*, 4> scopes{"sm", "tpc", "gpc", "gpu"};
  std::uint32_t scope = 0;
  const std::uint32_t levels = draw.whole(1, 3);
  std::uint64_t page = std::uint64_t{4096} << draw.below(13);
  auto entries = static_cast<std::uint32_t>(draw.scaled(8, 256));
  Json names = Json::array();
  for (std::uint32_t i = 1; i <= levels; ++i) {
    Json tlb = {{"page", page}, {"miss_penalty", draw.cycles(10, i == 1 ? 100 : 400)}};
    arrange_sets(draw, tlb, entries);
    // What lies behind serves no fewer SMs, or those in front would be warmed by strangers' misses.
    scope = scope + draw.below(4 - scope);
    tlb["scope"] = scopes[scope];
    names.push_back(fmt::format("tlb_{}", i));
    model["tlbs"][names.back().get<std::string>()] = tlb;
    entries = static_cast<std::uint32_t>(tlb["entries"].get<std::uint32_t>() * draw.scaled(2, 12));
    page <<= draw.chance(0.5) ? 0 : draw.whole(1, 3);
  }
  model["paths"] = {
      {"global_cached",
       {{{"level", "l2"}, {"latency", 220}, {"tlbs", names}}, {{"level", "device_memory"}, {"latency", 520}}}}};
  if (draw.chance(0.5)) model["distance"] = {{"slices", draw.cycles(2, 30)}, {"tpc", draw.cycles(0, 5)}};
  model["noise"] = {{"jitter", draw.one_of<const char*>({"none", "gaussian", "uniform"})},
                    {"cycles", 2},
                    {"outlier_probability", draw.chance(0.3) ? draw.between(0, 0.05) : draw.between(0, 0.001)},
                    {"outlier_cycles", {50, 600}},
                    {"seed", seed}};
  if (draw.chance(0.7)) {
    Json texture = {{"level", "l2"}, {"latency", 300}};
    // Textures ask the same TLBs, only those behind the nearest, or none.
    const std::uint32_t without = draw.below(levels + 2);
    if (without <= levels) texture["tlbs"] = Json(names.begin() + std::min(without, levels), names.end());
    model["paths"]["texture"] = {texture, {{"level", "device_memory"}, {"latency", 600}}};
  }
  if (draw.chance(0.7)) {
    Json beyond = {{"level", "l2"}, {"latency", 300}};
    // Code asks the same TLBs, one of its own first, only those behind the nearest, or none.
    const std::uint32_t without = draw.below(levels + 2);
    Json asked = Json::array();
    if (draw.chance(0.3)) {
      model["tlbs"]["tlb_of_code"] = {{"page", "2 MiB"}, {"entries", 8}, {"miss_penalty", 30}};
      asked.push_back("tlb_of_code");
    }
    for (std::uint32_t i = without; i < levels; ++i) asked.push_back(names[i]);
    if (!asked.empty()) beyond["tlbs"] = asked;
    model["caches"]["code"] = {{"size", "16 KiB"}, {"line", 128}, {"ways", 4}, {"scope", "sm"}};
    model["paths"]["instruction"] = {
        {{"level", "code"}, {"latency", 0}}, beyond, {{"level", "device_memory"}, {"latency", 600}}};
    model["execution"] = {{"block", 128}, {"between", draw.chance(0.5) ? 640 : 0}};
  }
  return model;
}

}  // namespace gputopo::test
