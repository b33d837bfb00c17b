#include "tests/sim/instructions/random_instructions.hpp"

#include <array>
#include <bit>

#include <fmt/format.h>

#include "tests/sim/random/draw.hpp"

namespace gputopo::test {
namespace {

using Json = nlohmann::json;

constexpr std::array<const char*, 4> scopes{"sm", "tpc", "gpc", "gpu"};

// About so many bytes as sets times ways.
Json random_cache(Draw& draw, std::uint32_t bytes, std::uint32_t line, bool is_small) {
  const std::uint32_t lines = bytes / line;
  Json cache = {{"line", line}};
  if (is_small && lines <= 64 && draw.chance(0.25)) {
    cache["size"] = lines * line;
    cache["sets"] = 1;
  } else {
    const std::uint32_t ways = draw.one_of({4U, 4U, 8U, 8U, 6U, 16U});
    const std::uint32_t sets = std::max(1U, std::bit_floor(lines / ways));
    cache["size"] = sets * ways * line;
    cache["sets"] = sets;
  }
  cache["index"] = draw.one_of<const char*>({"modulo", "modulo", "xor", "hash"});
  cache["replacement"] = draw.one_of<const char*>({"lru", "lru", "lru", "fifo", "random", "tree_plru"});
  return cache;
}

Json level(const std::string& cache, double latency) {
  return {{"level", cache}, {"latency", latency}};
}

}  // namespace

Json random_instructions(std::uint64_t seed) {
  Draw draw(seed ^ 0x696e737472756374ULL);
  const std::uint32_t block = draw.one_of({64U, 128U});
  Json model = {{"schema", "gputopo-model/1"},
                {"name", fmt::format("instructions-{}", seed)},
                {"gpu", {{"name", "Random"}, {"sm_count", 8}, {"memory", "4 GiB"}, {"clock_khz", 1500000}}},
                {"groups", {{"tpc", 2}, {"gpc", 4}}},
                {"caches", {{"l2", {{"size", "2 MiB"}, {"line", 128}, {"ways", 16}, {"scope", "gpu"}}}}}};
  Json& caches = model["caches"];
  caches["constant_l1"] = {{"size", "2 KiB"}, {"line", 64}, {"sets", 8}, {"ways", 4}};
  const std::uint32_t levels = draw.whole(1, 3);
  const std::uint32_t with_constants =
      draw.chance(0.6) ? draw.whole(2, 4) : 0;  // 1: the nearest; none where it's higher
  std::uint32_t line = std::max(block, draw.one_of({64U, 128U, 256U})), scope = 0;
  double bytes = draw.scaled(2048, levels == 1 ? 65536 : 8192), latency = 0;
  Json code = Json::array(), constants = {level("constant_l1", 40)};
  for (std::uint32_t i = 1; i <= levels; ++i) {
    const std::string name = fmt::format("instruction_{}", i);
    Json cache = random_cache(draw, static_cast<std::uint32_t>(bytes), line, i == 1);
    if (draw.chance(0.3) && line / 2 >= block) cache["sector"] = line / 2;
    if (i == 1 && draw.chance(0.5)) cache["instances"] = draw.one_of({2, 4});
    // What lies behind serves no fewer SMs than what is in front of it.
    if (i > 1) scope += draw.below(4 - scope);
    cache["scope"] = scopes[scope];
    code.push_back(level(name, latency));
    if (i >= with_constants && with_constants != 0) constants.push_back(level(name, 60 + latency));
    bytes = cache["size"].get<double>() * draw.scaled(3, 8);
    if (bytes > 96 * 1024) bytes = 96 * 1024;
    latency += draw.cycles(10, i == 1 ? 60 : 150);
    caches[name] = cache;
    if (draw.chance(0.3)) line = std::min(256U, 2 * line);
    if (bytes < cache["size"].get<double>() * 2.5) break;  // no more room for another
  }
  // Constants may share the nearest one, and the L2 may be smaller than all the code that can be walked.
  Draw more(seed ^ 0x636f6e7374616e74ULL);
  if (more.chance(0.15)) {
    constants = code;
    for (Json& step : constants) step["latency"] = step["latency"].get<double>() + 40;
    caches.erase("constant_l1");
  }
  caches["l2"]["size"] = more.one_of<const char*>({"128 KiB", "192 KiB", "256 KiB", "2 MiB"});
  for (Json* path : {&code, &constants}) {
    path->push_back(level("l2", 300));
    path->push_back(level("device_memory", 600));
  }
  model["paths"] = {{"global_cached", {level("l2", 220), level("device_memory", 520)}},
                    {"constant", constants},
                    {"instruction", code}};
  model["execution"] = {{"block", block}, {"between", draw.chance(0.3) ? block * draw.whole(1, 5) : 0}};
  // A cache of the whole GPU is as far as its slices are: no single latency is true of it.
  const bool is_near = scope < 3;
  if (draw.chance(0.5) && is_near) model["distance"] = {{"slices", draw.cycles(2, 20)}, {"tpc", draw.cycles(0, 5)}};
  model["clock_overhead"] = draw.whole(20, 200);
  model["background"] = {{"constants", 64}, {"code", draw.one_of({0, 512, 1024})}};
  model["noise"] = {{"jitter", draw.one_of<const char*>({"none", "gaussian", "uniform"})},
                    {"cycles", 1},
                    {"outlier_probability", draw.chance(0.3) ? draw.between(0, 0.02) : draw.between(0, 0.001)},
                    {"outlier_cycles", {50, 600}},
                    {"seed", seed}};
  model["execution"]["cycles_per_instruction"] = draw.one_of({1.0, 1.25, 2.0, 4.0});
  return model;
}

}  // namespace gputopo::test
