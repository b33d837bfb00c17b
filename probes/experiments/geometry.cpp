// Size and line of a cache that a thread can fill: a first idea of the size is enough for the line, and with the line
// the size is searched to the line, one load each. Where it can be counted what is there, both have to agree.
#include <cmath>

#include <fmt/format.h>

#include "evidence/estimates.hpp"
#include "evidence/footprint.hpp"
#include "evidence/held.hpp"
#include "evidence/kept.hpp"
#include "evidence/line.hpp"
#include "evidence/residency.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;

constexpr std::string_view others_fill_it = "another program fills this cache while it is measured";
constexpr std::uint64_t first_bytes = 512;  // fits into every first-level cache there has been

SearchSpec spec_of(Session& session, const CacheFacts& cache, std::uint64_t stride, std::uint64_t most_loads = 0) {
  SearchSpec spec;
  FootprintSpec rows;
  rows.most_loads = most_loads;
  rows.path = cache.path;
  rows.stride_bytes = stride;
  spec.count = count_footprints(session, rows, cache.levels.threshold_cycles);
  spec.sweep = {static_cast<double>(stride), most_loads == 0, cache.contamination()};
  spec.sweep.own_lines = cache.path.slot != slot_constant;  // what a kernel writes passes these caches
  spec.unit_bytes = stride;
  spec.first_bytes = first_bytes;
  spec.limit_bytes =
      cache.path.slot == slot_constant ? session.info().constant_bytes_per_module : sweep_limit_bytes / 4;
  return spec;
}

// A first idea of the capacity, within a tenth: 0 where nothing overflows.
Expected<std::uint64_t> rough_capacity(Session& session, const CacheFacts& cache) {
  const std::uint64_t stride = cache.stride();
  constexpr std::uint64_t sampled_loads = 1024;
  SearchSpec spec = spec_of(session, cache, stride, sampled_loads);
  spec.rows = 24;
  spec.replicates = 1;
  spec.most_patience = 4;
  auto found = search_capacity(spec);
  if (!found) return tl::unexpected<Error>(found.error());
  const CapacityPosterior& p = found->posterior;
  if (p.probability.back() > 0.5 || p.none_fits > 0.5) return std::uint64_t{0};
  return static_cast<std::uint64_t>(p.footprints_bytes[p.best()]);
}

Held held_of(const Residency& counted) {
  const auto bytes = static_cast<double>(counted.most());
  Held held{bytes, {bytes, bytes + static_cast<double>(counted.slack_bytes)}, counted.is_steady(), false, counted.samples};
  held.exact = held.steady && counted.slack_bytes == 0;
  return held;
}

Expected<Held> count(Session& session, const CacheFacts& cache, std::uint64_t about_bytes) {
  // Of another path's cache they'd say nothing.
  const bool probes = session.info().has_no_allocate && cache.path.path == program::Path::global_cached;
  if (probes) {
    auto counted = count_resident(session, cache, about_bytes);
    if (!counted) return tl::unexpected<Error>(counted.error());
    // Nothing found: these loads look into another cache.
    if (counted->most() > 0) return held_of(*counted);
  }
  return count_held(session, cache, about_bytes, Scope::sm);
}

}  // namespace

Expected<void> measure_geometry(Session& session, Findings& findings, const CachePath& path) {
  CacheFacts* cache = findings.cache(path.id);
  if (cache == nullptr || !cache->present) return {};
  auto& attributes = findings.memory(path.id).attributes;
  auto rough = rough_capacity(session, *cache);
  if (!rough) return tl::unexpected<Error>(rough.error());
  if (*rough != 0) {
    auto line = measure_line(session, *cache, *rough, Scope::sm);
    if (!line) return tl::unexpected<Error>(line.error());
    attributes["line_size"] = *line;
    if (line->has_value()) cache->line_bytes = static_cast<std::uint64_t>(*line->value);
  } else {
    attributes["line_size"] = inconclusive("B", "shifted_stride", "needs the size");
  }
  SearchSpec spec = spec_of(session, *cache, cache->stride());
  if (*rough != 0) spec.first_bytes = std::max(first_bytes, *rough / 4);
  auto found = search_capacity(spec);
  if (!found) return tl::unexpected<Error>(found.error());
  cache->warm_laps *= found->patience;
  Estimate size = estimate_of(*found, "misses");
  // Loads further apart than a line leave lines out, and more seems to fit than when every sector is loaded.
  if (*rough != 0 && size.has_value() && *size.value > static_cast<double>(*rough * 9 / 8 + 2 * cache->line_bytes)) {
    attributes["line_size"] = inconclusive(
        "B", "shifted_stride",
        fmt::format("{} B, but at that stride more fits than when every sector is loaded", cache->line_bytes));
    cache->line_bytes = 0;
    spec = spec_of(session, *cache, cache->stride());
    found = search_capacity(spec);
    if (!found) return tl::unexpected<Error>(found.error());
    size = estimate_of(*found, "misses");
  }
  const bool has_overflown = size.status == Status::measured || size.status == Status::inconclusive;
  if (has_overflown && session.settings().thesis && size.status == Status::measured) {
    cache->capacity_bytes = static_cast<std::uint64_t>(*size.value);
    auto by_thesis = size_by_thesis(session, *cache);
    if (!by_thesis) return tl::unexpected<Error>(by_thesis.error());
    attributes["size"] = *by_thesis;
    return {};
  }
  if (has_overflown && *rough != 0) {
    const auto about = size.has_value() ? static_cast<std::uint64_t>(*size.value) : *rough;
    auto held = count(session, *cache, about);
    // Where a neighbour on the GPU leaves no time for a second opinion, the first one stands.
    if (!held && held.error().kind != Error::Kind::unavailable) return tl::unexpected<Error>(held.error());
    if (held) size = capacity_of(size, *held, static_cast<double>(cache->stride()));
  }
  if (size.status == Status::measured) {
    cache->capacity_bytes = static_cast<std::uint64_t>(*size.value);
    auto alone = is_left_alone(session, *cache, cache->capacity_bytes, Scope::sm);
    if (!alone && alone.error().kind != Error::Kind::unavailable) return tl::unexpected<Error>(alone.error());
    if (alone && !*alone) {
      bound_below(size, others_fill_it);
      attributes["line_size"] = inconclusive("B", "shifted_stride", others_fill_it);
      cache->capacity_bytes = 0;
    }
  } else {
    attributes["line_size"] = inconclusive("B", "shifted_stride", "needs the size");
  }
  attributes["size"] = size;
  return {};
}

}  // namespace gputopo::experiments
