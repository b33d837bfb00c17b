// The caches of an SM that data pass: L1, texture, read-only, and the shared memory beside them.
#include "random_parts.hpp"

namespace gputopo::test {
namespace {

using Json = nlohmann::json;

// No cache of an SM holds as much as the L2 behind it: one that does would hide it.
CacheRange sm_range(const Drawn& d, double most_bytes, std::uint32_t most_line) {
  if (d.has_l2) most_bytes = std::min(most_bytes, static_cast<double>(d.l2_bytes) / 1.25);
  return {4 << 10, most_bytes, 32, most_line, 4};
}

// A reserved part takes ways away; the rest is no round number any more.
void reserve(Draw& draw, Json& c) {
  if (c.contains("set_ways")) return;
  const std::uint64_t lines = size_of(c) / line_of(c);
  c["reserved"] = line_of(c) * draw.whole(1, static_cast<std::uint32_t>(std::max<std::uint64_t>(1, lines / 16)));
}

// Shared memory in the L1's array: multiples of 8 KiB, at most three quarters of it.
void carve(Drawn& d, double latency) {
  Json& l1 = d.caches["l1"];
  std::uint64_t array = d.draw.one_of({64, 96, 128, 192, 256}) << 10;
  if (d.has_l2 && array > d.l2_bytes / 5 * 4) array = 64 << 10;
  const auto lines = static_cast<std::uint32_t>(array / line_of(l1));
  for (const char* name : {"set_ways", "consecutive_lines", "shared_by", "instances", "warp_map"}) l1.erase(name);
  const std::uint32_t sets = d.draw.one_of({1U, 4U, 8U, 16U, 32U});
  l1["sets"] = sets;
  l1["ways"] = lines / sets;
  l1["size"] = array;
  if (d.draw.chance(0.5)) reserve(d.draw, l1);
  Json sizes = Json::array();
  const std::uint64_t unit = 8 << 10;
  if (d.draw.chance(0.5)) sizes.push_back(0);
  for (std::uint64_t n = d.draw.whole(1, 3); n * unit <= array * 3 / 4; n += d.draw.whole(1, 4))
    sizes.push_back(n * unit);
  d.model["shared"] = {{"carved_from", "l1"}, {"carve_outs", sizes}, {"latency", latency}};
  if (d.draw.chance(0.4)) d.model["shared"]["block_reserved"] = 1024;
}

void draw_shared(Drawn& d, bool has_l1) {
  const double latency = d.draw.cycles(15, 60);
  if (has_l1 && d.draw.chance(0.4)) return carve(d, latency);
  d.model["shared"] = {{"carve_outs", {d.draw.one_of<const char*>({"16 KiB", "48 KiB", "96 KiB"})}},
                       {"latency", latency}};
}

void draw_texture(Drawn& d, bool unified, double l1_cycles) {
  const double cycles = unified ? std::max(l1_cycles, d.first_level_cycles(24)) : d.first_level_cycles(24);
  if (!unified) {
    d.caches["texture"] = random_cache(d.draw, sm_range(d, 64 << 10, 128));
    add_sharing(d.draw, d.caches["texture"], d.sm_count, 0.3);
  }
  d.paths["texture"] = d.through(unified ? "l1" : "texture", cycles, d.draw.cycles(0, 60));
  if (unified && d.draw.chance(0.7)) d.paths["texture"][0]["tag_class"] = 1;
}

void draw_read_only(Drawn& d, bool caches_global, bool unified) {
  const bool with_texture = d.paths.contains("texture") && !unified && d.draw.chance(0.6);
  if (with_texture) {
    d.paths["read_only"] = d.through("texture", d.first_level_cycles(24), d.draw.cycles(0, 40));
  } else if (caches_global && d.draw.chance(0.7)) {
    d.paths["read_only"] = "global_cached";
  } else {
    d.caches["read_only"] = random_cache(d.draw, sm_range(d, 64 << 10, 128));
    add_sharing(d.draw, d.caches["read_only"], d.sm_count, 0.2);
    d.paths["read_only"] = d.through("read_only", d.first_level_cycles(24), d.draw.cycles(0, 40));
  }
}

}  // namespace

void draw_global(Drawn& d) {
  const bool caches_global = d.draw.chance(0.8);
  const double l1_cycles = d.first_level_cycles(20);
  if (caches_global) {
    d.caches["l1"] = random_cache(d.draw, sm_range(d, 256 << 10, 256));
    add_sharing(d.draw, d.caches["l1"], d.sm_count, 0.15);
    d.paths["global_cached"] = d.through("l1", l1_cycles, 0);
  } else {
    d.paths["global_cached"] = d.beyond(0, 0);
  }
  const bool unified = caches_global && d.draw.chance(0.5);
  if (d.draw.chance(0.85)) draw_texture(d, unified, l1_cycles);
  if (d.draw.chance(0.8)) draw_read_only(d, caches_global, unified);
  if (caches_global && d.draw.chance(0.6)) d.paths["global_no_allocate"] = true;
  if (caches_global && d.draw.chance(0.3)) reserve(d.draw, d.caches["l1"]);
  if (d.draw.chance(0.9)) draw_shared(d, caches_global);
}

}  // namespace gputopo::test
