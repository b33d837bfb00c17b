// What lies beyond the SMs: the L2, its sides or chiplets, a cache behind it, TLBs, places on the chip.
#include "random_parts.hpp"

namespace gputopo::test {
namespace {

using Json = nlohmann::json;

// Mostly small, so that a discovery takes a moment; up to 64 MiB.
CacheRange l2_range(Draw& draw) {
  const double which = draw.between(0, 1);
  if (which < 0.85) return {128 << 10, 2 << 20, 32, 256, 4};
  if (which < 0.97) return {2 << 20, 8 << 20, 64, 256, 4};
  return {8 << 20, 64 << 20, 128, 256, 4};
}

// Sides of one L2: each address has a home, and the far one takes longer.
void divide(Drawn& d, Json& l2) {
  const std::uint32_t count = d.sm_count % 4 == 0 && d.draw.chance(0.3) ? 4 : 2;
  d.model["groups"]["partition"] =
      d.draw.chance(0.5) ? Json{{"interleaved", count}} : Json((d.sm_count + count - 1) / count);
  l2["size"] = size_of(l2) * count;
  l2["partitions"] = {{"count", count},
                      {"mode", d.draw.one_of<const char*>({"home", "near_copy"})},
                      {"interleave", d.draw.one_of<const char*>({"4 KiB", "4 KiB", "8 KiB"})}};
  d.l2_far_cycles = std::ceil(2 * d.l2_cycles * d.ratio(1.9)) / 2;
}

// One L2 a chiplet, that the others' SMs don't use.
void make_chiplets(Drawn& d, Json& l2) {
  const std::uint32_t chiplets = d.draw.whole(2, 3);
  const std::uint32_t sms = (d.sm_count + chiplets - 1) / chiplets;
  l2["shared_by"] = d.draw.chance(0.5) ? Json{{"interleaved", (d.sm_count + sms - 1) / sms}} : Json(sms);
}

void add_behind(Drawn& d) {
  const auto least = 2 * static_cast<double>(d.l2_bytes);
  Json l3 = random_cache(d.draw, {least, 4 * least, static_cast<std::uint32_t>(line_of(d.caches["l2"])), 256, 4});
  l3["scope"] = "gpu";
  d.caches["l3"] = l3;
  d.l3_cycles = d.memory_cycles;
}

void add_tlbs(Drawn& d) {
  const std::uint64_t page = std::uint64_t{4096} << d.draw.below(10);
  const auto entries = static_cast<std::uint32_t>(d.draw.scaled(8, 1024));
  d.tlbs["tlb_1"] = {{"page", page},
                     {"entries", entries},
                     {"miss_penalty", d.draw.cycles(10, 300)},
                     {"replacement", d.draw.one_of<const char*>({"lru", "fifo", "random"})}};
  if (d.draw.chance(0.5)) d.tlbs["tlb_1"]["scope"] = d.draw.one_of<const char*>({"tpc", "gpc", "gpu"});
  d.l2_tlbs.push_back("tlb_1");
  if (d.draw.chance(0.6)) return;
  d.tlbs["tlb_2"] = {{"page", page},
                     {"entries", entries * d.draw.whole(2, 16)},
                     {"scope", "gpu"},
                     {"miss_penalty", d.draw.cycles(50, 500)}};
  d.l2_tlbs.push_back("tlb_2");
}

// Latencies beyond the SMs depend on where SM and slice lie: by a few hundredths, or the slices by themselves by more.
void add_distance(Drawn& d) {
  const double unit = d.l2_cycles / 100;
  Json distance = {{"gpc", d.draw.cycles(0, 4 * unit)}, {"tpc", d.draw.cycles(0, 2 * unit)}};
  if (d.draw.chance(0.6)) {
    distance[d.draw.chance(0.5) ? "slices" : "sm"] = d.draw.cycles(unit, 14 * unit);
    if (d.draw.chance(0.6)) distance["steps"] = d.draw.whole(2, 8);
  }
  if (d.later.chance(0.5)) distance["slice"] = d.later.one_of({256, 1024, 4096});
  if (d.later.chance(0.5)) distance["count"] = d.later.whole(8, 96);
  d.model["distance"] = distance;
}

}  // namespace

void draw_l2(Drawn& d) {
  if (d.draw.chance(0.92)) {
    d.has_l2 = true;
    Json l2 = random_cache(d.draw, l2_range(d.draw));
    d.l2_bytes = size_of(l2);
    l2["scope"] = "gpu";
    const double which = d.draw.between(0, 1);
    if (which < 0.2) {
      divide(d, l2);
    } else if (which < 0.32) {
      l2.erase("scope");
      make_chiplets(d, l2);
    }
    d.l2_bytes = size_of(l2);  // with all its sides
    d.caches["l2"] = l2;
    d.memory_cycles = std::ceil(2 * std::max(d.memory_cycles, d.l2_far_cycles * d.least_ratio)) / 2;
    if (d.draw.chance(0.2)) {
      add_behind(d);
      d.memory_cycles = std::ceil(2 * d.l3_cycles * d.ratio(2.5)) / 2;
    }
    if (d.draw.chance(0.4)) add_tlbs(d);
  }
  if (d.draw.chance(0.4)) add_distance(d);
  d.paths["global_l2_only"] = d.beyond(0, 0);
}

}  // namespace gputopo::test
