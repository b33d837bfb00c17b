// Size and line of a cache that a thread can fill: a first idea of the size is enough for the line, and with the line
// the size is searched to the line, one load each. Where it can be counted what is there, both have to agree.
#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "evidence/held/agreed_size.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/lines/line.hpp"
#include "evidence/looks/footprint.hpp"
#include "evidence/looks/kept.hpp"
#include "evidence/looks/residency.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;

constexpr std::string_view others_fill_it = "another program fills this cache while it is measured";
constexpr std::string_view nearer_is_hidden =
    "another program fills this cache while it is measured, and a nearer one may lose what it got before the next load";
constexpr std::string_view near_lines_hide = "lines that are near in the level behind may be as fast as hits";
constexpr std::uint64_t first_bytes = 512;  // fits into every first-level cache there has been

SearchSpec size_spec(Session& session, CacheFacts& cache, std::uint64_t stride, std::uint64_t most_loads = 0) {
  SearchSpec spec;
  FootprintSpec rows;
  rows.most_loads = most_loads;
  rows.path = cache.path;
  rows.stride_bytes = stride;
  rows.walked = &cache.walked;
  spec.count = count_footprints(session, rows, cache.levels.threshold_cycles);
  spec.sweep = {static_cast<double>(stride), most_loads == 0, cache.contamination()};
  spec.sweep.own_lines = cache.path.slot != slot_constant;  // what a kernel writes passes these caches
  spec.unit_bytes = stride;
  spec.first_bytes = first_bytes;
  spec.limit_bytes =
      cache.path.slot == slot_constant ? session.info().constant_bytes_per_module : sweep_limit_bytes / 4;
  return spec;
}

struct Rough {
  std::uint64_t bytes = 0;     // 0 where nothing overflows
  std::uint32_t patience = 1;  // times the usual warm laps that the cache took to settle
};

// A first idea of the capacity, within a tenth.
Expected<Rough> rough_capacity(Session& session, CacheFacts& cache) {
  const std::uint64_t stride = cache.stride();
  constexpr std::uint64_t sampled_loads = 1024;
  SearchSpec spec = size_spec(session, cache, stride, sampled_loads);
  spec.rows = 24;
  spec.replicates = 1;
  spec.most_patience = 4;
  spec.sweep.by_law_alone = true;
  auto found = search_capacity(session, spec);
  if (!found) return tl::unexpected<Error>(found.error());
  const CapacityPosterior& p = found->posterior;
  if (p.probability.back() > 0.5 || p.none_fits > 0.5) return Rough{};
  return Rough{static_cast<std::uint64_t>(p.footprints_bytes[p.best()]), found->patience};
}

// Lines that were brought past the nearest cache come from where they were brought to; what walks are served by shows
// every level in front of that as well. Where one of these lies among the hits, what was told by them is told anew.
Expected<Rough> rough_before_all_levels(Session& session, Findings& findings, CacheFacts& cache) {
  auto rough = rough_capacity(session, cache);
  if (!rough || cache.path.slot == slot_constant || !hide_a_level(cache.levels, {cache.walked}, many_of_walked))
    return rough;
  const Histogram surely_missed = between(cache.levels.next, cache.levels.threshold_cycles, 1e9);
  Levels nearer = graded_levels(cache.levels.hit, {cache.walked, surely_missed}, cache.overhead_cycles);
  if (!nearer.usable() || nearer.threshold_cycles >= cache.levels.threshold_cycles) return rough;
  cache.levels = std::move(nearer);
  if (auto ok = measure_sector(session, findings, cache.path); !ok) return tl::unexpected<Error>(ok.error());
  return rough_capacity(session, cache);
}

Held held_of(const Residency& counted) {
  const auto bytes = static_cast<double>(counted.held_bytes);
  Held held;
  held.bytes = bytes;
  held.interval = {bytes, bytes};
  held.steady = held.exact = counted.is_steady();
  held.samples = counted.samples;
  return held;
}

Expected<SizeAndHeld> agree(Session& session, const CacheFacts& cache, const Estimate& fits, const Counts& counts,
                            std::uint64_t about_bytes) {
  if (auto open = open_where_it_misses(fits, counts, cache.levels)) return SizeAndHeld{*open, std::nullopt};
  // Of another path's cache they'd say nothing.
  const bool probes = session.info().has_no_allocate && cache.path.path == program::Path::global_cached;
  if (probes) {
    auto counted = if_available(count_resident(session, cache, about_bytes));
    if (!counted) return tl::unexpected<Error>(counted.error());
    // Nothing there: it takes longer than a neighbour leaves. Nothing found: these loads look into another cache. Not
    // the same every time: near lines of the level behind look like hits, which many looks are needed to take off.
    if (*counted && (*counted)->held_bytes > 0 && (*counted)->is_steady()) {
      const Held held = held_of(**counted);
      return SizeAndHeld{agreed_size(fits, held, static_cast<double>(cache.stride())), held};
    }
  }
  return agree_by_count(session, cache, fits, counts, about_bytes, Scope::sm);
}

struct LineAndSize {
  Estimate line, size;
  Counts counts;  // that the size was told from
  std::uint32_t patience = 1;
};

// The size by footprints with a load a line, or a sector where the line isn't known.
Expected<void> fit_size(Session& session, CacheFacts& cache, const Rough& rough, LineAndSize& result) {
  cache.line_bytes = result.line.has_value() ? static_cast<std::uint64_t>(*result.line.value) : 0;
  SearchSpec spec = size_spec(session, cache, cache.stride());
  if (rough.bytes != 0) spec.first_bytes = std::max(first_bytes, rough.bytes / 4);
  auto found = search_capacity(session, spec);
  if (!found) return tl::unexpected<Error>(found.error());
  result.size = estimate_of(*found, "misses");
  result.counts = found->counts;
  result.patience = std::max(rough.patience, found->patience);
  return {};
}

// Of a load in every line as many bytes fit as of a load in every sector. Of several that fill a set together, and look
// like one, more do.
bool may_be_several_lines(const LineAndSize& found, const Rough& rough) {
  constexpr double many = 1.5;
  return rough.bytes != 0 && found.line.has_value() && found.size.has_value() &&
         *found.size.value > many * static_cast<double>(rough.bytes);
}

// The line, and the size by that.
Expected<LineAndSize> fit(Session& session, CacheFacts& cache, const Rough& rough) {
  LineAndSize result;
  result.line = inconclusive("B", line_method, "needs the size");
  for (const ConfirmedBy by : {ConfirmedBy::any_pairs, ConfirmedBy::lost_pairs}) {
    if (rough.bytes != 0) {
      auto line = measure_line(session, cache, rough.bytes, Scope::sm, by);
      if (!line) return tl::unexpected<Error>(line.error());
      result.line = std::move(*line);
    }
    if (auto ok = fit_size(session, cache, rough, result); !ok) return tl::unexpected<Error>(ok.error());
    if (!may_be_several_lines(result, rough)) break;
  }
  return result;
}

// The size by a second opinion, and whether the cache was all ours: false where others fill it.
Expected<bool> confirm(Session& session, CacheFacts& cache, LineAndSize& found, std::uint64_t rough_bytes) {
  Estimate& size = found.size;
  std::uint64_t fill = 0;
  const auto about = size.has_value() ? static_cast<std::uint64_t>(*size.value) : rough_bytes;
  if (about != 0 && (size.status == Status::measured || size.status == Status::inconclusive)) {
    auto agreed = agree(session, cache, size, found.counts, about);
    if (!agreed) return tl::unexpected<Error>(agreed.error());
    size = agreed->size;
    fill = bytes_to_fill(size, agreed->held) / cache.stride() * cache.stride();
  }
  auto alone = if_available(is_left_alone(session, cache, fill != 0 ? fill : first_bytes, Scope::sm));
  if (!alone) return tl::unexpected<Error>(alone.error());
  if (alone->value_or(true)) {
    cache.capacity_bytes = fill;
    return true;
  }
  // Where nothing was seen to end, what others push out may have hidden it; and lines next to one another that weren't
  // seen to part may have gone one after the other.
  if (fill == 0) {
    size = inconclusive("B", "misses", others_fill_it);
    if (found.line.has_value()) bound_above(found.line, others_fill_it);
  }
  if (size.status == Status::measured) bound_below(size, others_fill_it);
  return false;
}

// Lines of the level right behind that lie near may be as fast as hits. Of a footprint that the cache holds hardly
// anything of they'd be those that don't miss where the rest come from that level: whether there is one without them.
Expected<bool> shows_all_misses(Session& session, const CacheFacts& cache, std::uint64_t about_bytes) {
  FootprintSpec rows;
  rows.path = cache.path;
  rows.stride_bytes = cache.stride();
  program::Batch batch;
  for (std::uint64_t bytes = 2 * std::max(about_bytes, first_bytes); bytes <= session.info().constant_bytes_per_module;
       bytes += bytes / 2)
    batch.push_back(footprint_program(session.info(), rows, bytes / rows.stride_bytes * rows.stride_bytes));
  if (batch.empty()) return false;
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  return std::any_of(traces->begin(), traces->end(), [&](const program::ProgramTrace& trace) {
    const Histogram loads = recorded_histogram(trace);
    const auto as_hits = static_cast<double>(total(between(loads, 0, cache.levels.threshold_cycles)));
    const auto behind = between(loads, cache.levels.threshold_cycles, cache.behind_next_cycles);
    return as_hits + 0.5 <= a_stranger * (as_hits + static_cast<double>(total(behind)) + 1);
  });
}

// Behind a constant L1, which has few lines, lies a cache that others fill as well, with the larger part of its lines
// left for longer: what was taken for the L1 may be that. So may the L2 behind a cache whose hits others don't leave
// alone for as long as a lap of eight loads.
void doubt_nearest(Memory& memory, CacheFacts& cache, LineAndSize& found) {
  cache.line_bytes = 0;
  found.line = inconclusive("B", line_method, nearer_is_hidden);
  found.size = inconclusive("B", "misses", nearer_is_hidden);
  Estimate& sector = memory.attributes["sector_size"];
  sector = inconclusive("B", sector.method, nearer_is_hidden);
  bound_above(memory.attributes["latency"], nearer_is_hidden);
}

}  // namespace

Expected<void> measure_geometry(Session& session, Findings& findings, const CachePath& path) {
  CacheFacts* cache = findings.cache(path.id);
  if (cache == nullptr || !cache->present) return {};
  auto rough = rough_before_all_levels(session, findings, *cache);
  if (!rough) return tl::unexpected<Error>(rough.error());
  auto found = fit(session, *cache, *rough);
  if (!found) return tl::unexpected<Error>(found.error());
  if (!session.settings().thesis) {
    auto alone = confirm(session, *cache, *found, rough->bytes);
    if (!alone) return tl::unexpected<Error>(alone.error());
    findings.others_fill_sms = findings.others_fill_sms || !*alone;
    const bool is_told = is_usable(findings.memory(path.id).attributes["latency"]);
    if (!*alone && (path.slot == slot_constant || !is_told)) doubt_nearest(findings.memory(path.id), *cache, *found);
  }
  auto told_apart =
      cache->behind_next_cycles == 0 ? Expected<bool>(true) : shows_all_misses(session, *cache, rough->bytes);
  if (!told_apart) return tl::unexpected<Error>(told_apart.error());
  if (!*told_apart) {
    found->size = inconclusive("B", "misses", near_lines_hide);
    cache->capacity_bytes = 0;
  }
  bound_by_lines(found->size, cache->stride(), cache->levels);
  cache->warm_laps *= found->patience;
  if (session.settings().thesis && found->size.status == Status::measured) {
    cache->capacity_bytes = static_cast<std::uint64_t>(*found->size.value);
    auto by_thesis = size_by_thesis(session, *cache);
    if (!by_thesis) return tl::unexpected<Error>(by_thesis.error());
    found->size = *by_thesis;
  }
  auto& attributes = findings.memory(path.id).attributes;
  attributes["line_size"] = found->line;
  attributes["size"] = found->size;
  return {};
}

}  // namespace gputopo::experiments
