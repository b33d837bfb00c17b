#include "random_model.hpp"

#include <algorithm>
#include <cmath>

#include "random_parts.hpp"

namespace gputopo::test {
namespace {

using Json = nlohmann::json;

// Of the model as it was drawn so far, and by numbers of their own, so that seeds without them draw what they did.
// Behind an L2: a line of memory alone is nearer when it comes again by its row, as from a cache.
void add_rows(Draw draw, double least_ratio, Json& model) {
  constexpr double least_gain = 10;
  const Json& paths = model["paths"];
  const Json& path = paths[paths.contains("global_l2_only") ? "global_l2_only" : "global_cached"];
  if (!draw.chance(0.2) || path.size() < 2) return;
  const double memory = path.back()["latency"].get<double>();
  const Json& before = path[path.size() - 2];
  const double farthest = before.value("far_latency", before["latency"].get<double>());
  const double most = std::min(memory / 5, memory - least_ratio * farthest);
  if (most < least_gain) return;
  model["rows"] = {{"size", draw.one_of({"1 KiB", "2 KiB", "8 KiB"})},
                   {"banks", draw.one_of({16, 64, 512})},
                   {"gain", std::round(draw.between(least_gain, most))}};
}

// Of sides of an L2 memory is as near or far as the lines' homes are, as measured GPUs' is, or all alike: by numbers of
// their own, too.
void add_homes(Draw draw, Json& model) {
  const double share = draw.one_of({0.0, 0.5, 1.0});
  for (Json& path : model["paths"]) {
    if (share == 0 || !path.is_array() || path.size() < 2) continue;
    const auto l2 = std::find_if(path.begin(), path.end(), [](const Json& l) { return l.contains("far_latency"); });
    if (l2 == path.end()) continue;
    const double near = path.back()["latency"].get<double>();
    const double apart = (*l2)["far_latency"].get<double>() - (*l2)["latency"].get<double>();
    path.back()["far_latency"] = near + std::round(2 * share * apart) / 2;
  }
}

Json drawn(Drawn d, std::uint64_t seed) {
  draw_gpu(d, seed);
  draw_l2(d);
  draw_global(d);
  draw_constants(d);
  draw_disturbances(d, seed);
  d.model["caches"] = d.caches;
  d.model["tlbs"] = d.tlbs;
  d.model["paths"] = d.paths;
  constexpr std::uint64_t rows = 0x726f7773;
  add_rows(Draw(seed ^ rows), d.least_ratio, d.model);
  constexpr std::uint64_t homes = 0x686f6d6573;
  add_homes(Draw(seed ^ homes), d.model);
  return d.model;
}

Json& any_cache(Draw& draw, Json& model) {
  auto it = model["caches"].begin();
  std::advance(it, draw.below(static_cast<std::uint32_t>(model["caches"].size())));
  return *it;
}

void make_hostile(Draw& draw, Json& model) {
  const bool has_caches = !model["caches"].empty();
  switch (draw.below(has_caches ? 7 : 4)) {
    case 0:
      model["noise"]["outlier_probability"] = draw.between(0.05, 0.4);
      model["noise"]["outlier_cycles"] = draw.one_of({5, 30, 300, 5000});
      break;
    case 1:
      model["noise"]["jitter"] = "uniform";
      model["noise"]["cycles"] = draw.whole(4, 60);
      break;
    case 2:
      model["tenant"] = {
          {"l2_lines_per_us", 2000}, {"sm_lines_per_us", 500}, {"slow_share", 0.8}, {"slow_cycles", {0, 400}}};
      break;
    case 3:
      model["distance"] = {{"sm", draw.whole(50, 200)}, {"slices", draw.whole(0, 200)}};
      break;
    case 4:
      any_cache(draw, model)["prefetch_lines"] = draw.whole(1, 8);
      break;
    case 5: {  // far too small: a line or two
      Json& c = any_cache(draw, model);
      for (const char* name : {"sets", "ways", "set_ways", "consecutive_lines", "reserved"}) c.erase(name);
      const bool in_use = model.contains("shared") && model["shared"].contains("carved_from");
      const std::uint64_t sides = c.contains("partitions") ? c["partitions"]["count"].get<std::uint64_t>() : 1;
      if (!in_use) c["size"] = line_of(c) * draw.whole(1, 3) * sides;
      break;
    }
    default:
      any_cache(draw, model)["cleared_at_launch"] = true;
      break;
  }
}

}  // namespace

Json random_model(std::uint64_t seed) {
  return drawn(Drawn(seed), seed);
}

Json hostile_model(std::uint64_t seed) {
  Drawn d(seed ^ 0x686f7374696c65ULL);
  d.least_ratio = 1.004;
  Json model = drawn(d, seed);
  model["name"] = "hostile-" + std::to_string(seed);
  Draw draw(seed ^ 0x776f727365ULL);
  for (std::uint32_t i = draw.whole(1, 4); i > 0; --i) make_hostile(draw, model);
  return model;
}

}  // namespace gputopo::test
