#include "random_organisation.hpp"

#include <fmt/format.h>

#include "tests/sim/random/random_cache.hpp"

namespace gputopo::test {
namespace {

using Json = nlohmann::json;

Json through(const char* cache, double cycles) {
  return {{{"level", cache}, {"latency", cycles}},
          {{"level", "l2"}, {"latency", 220}},
          {{"level", "device_memory"}, {"latency", 500}}};
}

void add_constants(Draw& draw, Json& model) {
  Json& caches = model["caches"];
  caches["constant_l1"] = random_cache(draw, {1 << 10, 16 << 10, 32, 128, 2});
  model["paths"]["constant"] = through("constant_l1", 40);
  if (draw.chance(0.5)) {
    const double least = std::max(1.25 * static_cast<double>(size_of(caches["constant_l1"])), 4096.0);
    const auto line = static_cast<std::uint32_t>(line_of(caches["constant_l1"]));
    caches["constant_l1_5"] = random_cache(draw, {least, 48 << 10, line, 256, 2});
    caches["constant_l1_5"]["scope"] = draw.one_of<const char*>({"sm", "tpc", "gpu"});
    Json& path = model["paths"]["constant"];
    path.insert(path.begin() + 1, Json{{"level", "constant_l1_5"}, {"latency", 110}});
  }
  if (draw.chance(0.5))
    model["background"] = {{"constants", 64 * draw.whole(1, 4)}, {"constant_offset", 64 * draw.below(32)}};
}

// Mostly small, so that a discovery takes a moment; a few with sides.
void add_l2(Draw& draw, Json& model) {
  Json& l2 = model["caches"]["l2"];
  if (draw.chance(0.5)) {
    l2 = random_cache(draw, {256 << 10, 2 << 20, 32, 256, 4});
    l2["scope"] = "gpu";
  }
  if (!draw.chance(0.2)) return;
  model["groups"]["partition"] = 2;
  l2["size"] = 2 * (l2["size"].is_string() ? std::uint64_t{2} << 20 : l2["size"].get<std::uint64_t>());
  l2["partitions"] = {{"count", 2}, {"mode", draw.one_of<const char*>({"home", "near_copy"})}};
  for (auto& [name, path] : model["paths"].items())
    for (Json& level : path)
      if (level["level"] == "l2") level["far_latency"] = 400;
}

}  // namespace

Json random_organisation(std::uint64_t seed) {
  Draw draw(seed ^ 0x6f7267616e697365ULL);
  Json model = {
      {"schema", "gputopo-model/1"},
      {"name", fmt::format("organisation-{}", seed)},
      {"gpu", {{"name", "Random"}, {"sm_count", 4}, {"memory", "1 GiB"}, {"clock_khz", 1500000}}},
      {"groups", {{"tpc", 2}}},
      {"caches", {{"l2", {{"size", "2 MiB"}, {"line", 128}, {"sector", 32}, {"ways", 16}, {"scope", "gpu"}}}}},
      {"paths", {{"global_cached", Json::array()}}}};
  Json& global = model["paths"]["global_cached"];
  global = through("l2", 220);
  global.erase(global.begin());
  const std::uint32_t kind = draw.below(4);
  if (kind == 0) {
    model["caches"]["l1"] = random_cache(draw, {4 << 10, 128 << 10, 32, 256, 4});
    global = through("l1", 35);
  } else if (kind == 1) {
    model["caches"]["texture"] = random_cache(draw, {4 << 10, 64 << 10, 32, 128, 4});
    model["paths"]["texture"] = through("texture", 90);
  } else {
    add_constants(draw, model);
  }
  add_l2(draw, model);
  model["noise"] = {{"jitter", draw.one_of<const char*>({"none", "gaussian", "uniform"})},
                    {"cycles", 2},
                    {"outlier_probability", draw.chance(0.3) ? draw.between(0, 0.05) : draw.between(0, 0.001)},
                    {"outlier_cycles", {50, 600}},
                    {"seed", seed}};
  return model;
}

}  // namespace gputopo::test
