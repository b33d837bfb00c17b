#include <algorithm>
#include <tuple>

#include "device/sim/distance.hpp"
#include "device/sim/model.hpp"

namespace gputopo::sim {
namespace {

// All latencies that loads of one level have, noise and other processes aside: by the distance of the line, after the
// steps of the clock, and where TLBs don't know the page; of lines that are `further_cycles` farther than near ones.
Interval latencies(const Model& m, const PathModel& path, std::size_t level, double further_cycles = 0) {
  Interval span{path[level].latency_cycles + further_cycles, path[level].latency_cycles + further_cycles};
  for (std::size_t i = 0; i <= level; ++i)
    for (const std::size_t t : path[i].tlbs) span.high += m.tlbs[t].miss_cycles;
  if (path[level].cache && !is_beyond_sms(m, *path[level].cache)) return span;
  const double distance = largest_distance_cycles(m.distance);
  double slowest = 1;
  double fastest = 1;
  for (const ClockStep& step : m.clock_steps) {
    const double ratio = static_cast<double>(step.clock_khz) / static_cast<double>(m.gpu.clock_khz);
    slowest = std::min(slowest, ratio);
    fastest = std::max(fastest, ratio);
  }
  return {(span.low - distance) * slowest, (span.high + distance) * fastest};
}

void add_span(Memory& memory, const char* attribute, const Interval& span) {
  const auto it = memory.attributes.find(attribute);
  if (it != memory.attributes.end() && it->second.value && span.low < span.high) it->second.interval = span;
}

void add_spans(Memory& memory, const Model& m, const PathModel& path, std::size_t level) {
  const Interval own = latencies(m, path, level);
  add_span(memory, "latency", own);
  if (level + 1 == path.size()) return;
  const Interval next = latencies(m, path, level + 1);
  add_span(memory, "miss_penalty", {next.low - own.high, next.high - own.low});
}

}  // namespace

void add_latency_spans(const Model& model, Topology& truth) {
  using program::Path;
  constexpr std::array<std::tuple<const char*, Path, std::size_t>, 6> levels{{{"l1", Path::global_cached, 0},
                                                                              {"texture", Path::texture, 0},
                                                                              {"read_only", Path::read_only, 0},
                                                                              {"constant_l1", Path::constant, 0},
                                                                              {"constant_l1_5", Path::constant, 1},
                                                                              {"l2", Path::global_l2_only, 0}}};
  for (const auto& [id, path, level] : levels)
    if (const auto& p = model.path(path); p && level < p->size()) add_spans(*truth.find(id), model, *p, level);
  const PathModel& p = *model.path(Path::global_l2_only);
  const double further = p[0].far_latency_cycles - p[0].latency_cycles;
  add_span(*truth.find("l2"), "far_latency", latencies(model, p, 0, further));
  add_spans(*truth.find("device_memory"), model, p, p.size() - 1);
}

}  // namespace gputopo::sim
