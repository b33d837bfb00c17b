#include "untold.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "device/sim/cache_ids.hpp"
#include "device/sim/distance.hpp"

namespace gputopo::test {
namespace {

constexpr double least_ratio = 1.05;  // of a level's latency to that of the one before it (docs/domain.md)

// How much faster or slower what lies beyond the SMs is in cycles of an SM whose clock has done all its steps.
double last_clock(const sim::Model& model, const sim::Level& level) {
  if (model.clock_steps.empty() || (level.cache && !sim::is_beyond_sms(model, *level.cache))) return 1;
  return static_cast<double>(model.clock_steps.back().clock_khz) / static_cast<double>(model.gpu.clock_khz);
}

bool is_as_fast(const sim::Model& model, const sim::Level& level, const sim::Level& behind) {
  const double farthest =
      std::max(behind.latency_cycles, behind.far_latency_cycles) + sim::largest_distance_cycles(model.distance);
  return farthest * last_clock(model, behind) < least_ratio * level.latency_cycles * last_clock(model, level);
}

// All constants there are, and the code that a kernel can have where it passes the same cache.
bool holds_all_constants(const sim::Model& model, std::size_t cache) {
  const auto& code = model.path(program::Path::instruction);
  const bool code_passes = code && model.execution && std::any_of(code->begin(), code->end(), [&](const auto& level) {
                             return level.cache == cache;
                           });
  const std::uint64_t all =
      model.constant_modules * model.constant_bytes_per_module + (code_passes ? model.execution->limit_bytes : 0);
  return all <= sim::usable_bytes(model.caches[cache], 0);
}

}  // namespace

void mark_untold(const sim::Model& model, std::vector<Statement>& statements) {
  std::set<std::string, std::less<>> untold;
  for (const sim::CacheId& id : sim::cache_ids) {
    const auto& path = model.path(id.path);
    if (!path || id.level + 1 >= path->size() || !(*path)[id.level].cache) continue;
    const sim::Level& level = (*path)[id.level];
    if (is_as_fast(model, level, (*path)[id.level + 1]) ||
        (id.id == "constant_l1_5" && holds_all_constants(model, *level.cache)))
      untold.emplace(id.id);
  }
  for (Statement& s : statements)
    if (untold.contains(s.memory) || (s.attribute == "parent" && untold.contains(s.truth))) s.decidable = false;
}

}  // namespace gputopo::test
