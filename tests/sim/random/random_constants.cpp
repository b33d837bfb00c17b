// Constants: one level or two, in the SM or shared, with the kernel's own lines and code in them.
#include "random_parts.hpp"

namespace gputopo::test {
namespace {

using Json = nlohmann::json;

// Code passes the constants' second level, or one of its own.
void draw_instructions(Drawn& d) {
  const bool shared = d.draw.chance(0.8);
  const std::uint64_t line = std::min<std::uint64_t>(128, line_of(d.caches["constant_l1_5"]));
  d.caches["instruction_l0"] = {{"size", 4096 << d.draw.below(4)}, {"line", line}, {"ways", 4}};
  const double second = d.draw.cycles(20, 60);
  Json levels = d.beyond(second, 0);
  const char* next = shared ? "constant_l1_5" : "instruction_l1";
  if (!shared) d.caches[next] = {{"size", 32768 << d.draw.below(3)}, {"line", 128}, {"ways", 8}};
  levels.insert(levels.begin(), Json{{"level", next}, {"latency", second}});
  levels.insert(levels.begin(), Json{{"level", "instruction_l0"}, {"latency", 0}});
  d.paths["instruction"] = levels;
  d.model["execution"] = {{"instruction", d.draw.one_of({8, 16})}, {"cycles_per_instruction", d.draw.whole(2, 9)}};
}

void draw_second_level(Drawn& d, double l2_cycles, double extra) {
  const Json& l1 = d.caches["constant_l1"];
  // Not larger than the level in front of it, it would hold nothing that isn't there.
  const double least = std::max(1.25 * static_cast<double>(size_of(l1)), 4096.0);
  Json second =
      random_cache(d.draw, {least, std::max(least, 128.0 * 1024), static_cast<std::uint32_t>(line_of(l1)), 256, 2});
  if (d.draw.chance(0.2)) {
    second["shared_by"] = d.draw.whole(1, std::min(3U, d.sm_count));
  } else {
    second["scope"] = d.draw.one_of<const char*>({"sm", "sm", "tpc", "gpc", "gpc", "gpu"});
  }
  d.caches["constant_l1_5"] = second;
  const double cycles = d.cycles_before(l2_cycles, 4, 20);
  const double first = d.cycles_before(cycles, 8, 15);
  d.paths["constant"] = d.through("constant_l1_5", cycles, extra);
  d.paths["constant"].insert(d.paths["constant"].begin(), Json{{"level", "constant_l1"}, {"latency", first}});
}

}  // namespace

void draw_constants(Drawn& d) {
  if (d.draw.chance(0.1)) return;
  Json& l1 = d.caches["constant_l1"] = random_cache(d.draw, {1 << 10, 16 << 10, 32, 128, 2});
  add_sharing(d.draw, l1, d.sm_count, 0.15);
  // Constants may reach the L2 by another way than data do, a faster or a slower one.
  const double next = d.has_l2 ? d.l2_cycles : d.memory_cycles;
  const double extra = std::round(2 * next * d.draw.between(-0.4, 0.4)) / 2;
  if (d.draw.chance(0.25)) {
    d.paths["constant"] = d.through("constant_l1", d.cycles_before(next + extra, 8, 15), extra);
  } else {
    draw_second_level(d, next + extra, extra);
    if (d.draw.chance(0.8)) draw_instructions(d);
  }
  if (d.draw.chance(0.2)) d.model["limits"] = {{"constant_modules", d.draw.one_of({1, 2})}};
  if (d.draw.chance(0.3)) return;
  d.model["background"] = {{"constants", 64 * d.draw.whole(1, 4)}, {"constant_offset", 64 * d.draw.below(32)}};
  if (d.paths.contains("instruction")) d.model["background"]["code"] = 256 * d.draw.below(9);
}

}  // namespace gputopo::test
