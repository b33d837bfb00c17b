// Sector: how many bytes one miss brings in. Cold loads of every word miss once a sector.
#include <memory>
#include <span>

#include <fmt/format.h>

#include "evidence/inference/estimates.hpp"
#include "evidence/inference/period.hpp"
#include "evidence/looks/cold.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {

using namespace evidence;

Expected<void> measure_sector(Session& session, Findings& findings, const CachePath& path) {
  constexpr std::string_view method = "cold_misses";
  constexpr std::uint64_t walk_bytes = 8192;
  constexpr std::uint64_t word_bytes = 4;
  CacheFacts* cache = findings.cache(path.id);
  if (cache == nullptr || !cache->present) return {};
  Cold cold = cold_region(session, path, walk_bytes, fmt::format("{} cold", path.id), cache->pushed_by);
  program::Walk walk = recorded(make_walk(path, cold.bytes, word_bytes, 1), program::Record::latencies, 1);
  walk.first_byte = cold.first_byte;
  cold.program.phases.emplace_back(walk);
  auto traces = session.run({cold.program});
  if (!traces) return tl::unexpected<Error>(traces.error());
  const auto& latencies = traces->front().phases.back().latencies;
  // Some of these may come from a nearer level than what was seen before, where others push lines out of the L2; of
  // constants, footprints have shown every level.
  if (path.slot != slot_constant)
    cache->levels = graded_levels(cache->levels.hit, {counted(latencies), cache->levels.next}, cache->overhead_cycles);
  const auto missed = std::make_unique<bool[]>(latencies.size());
  for (std::size_t i = 0; i < latencies.size(); ++i) missed[i] = latencies[i] >= cache->levels.threshold_cycles;
  const Estimate sector =
      period_of(std::span(missed.get(), latencies.size()), word_bytes, cache->contamination(), method);
  session.keep(period_curve(std::span(missed.get(), latencies.size()), word_bytes, sector, path.id));
  if (sector.has_value()) cache->sector_bytes = static_cast<std::uint64_t>(*sector.value);
  findings.memory(path.id).attributes["sector_size"] = sector;
  return {};
}

}  // namespace gputopo::experiments
