#include "experiments/sm_cache.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "experiments/estimates.hpp"
#include "experiments/fetch_granularity.hpp"
#include "experiments/line_size.hpp"
#include "experiments/modes.hpp"
#include "experiments/residency.hpp"
#include "experiments/size_search.hpp"

namespace gputopo::experiments {
namespace {

using change_point::Verdict;
using program::Path;
using program::Record;

constexpr std::uint64_t tiny_bytes = 512;  // fits into every first-level cache there has been
constexpr std::uint64_t tiny_stride = 32;

void set_absent(Memory& memory, std::string_view why) {
  for (const char* name : {"size", "line_size", "sector_size"}) memory.attributes[name] = not_supported("B", why);
  for (const char* name : {"latency", "miss_penalty"}) memory.attributes[name] = not_supported("cycles", why);
}

// One load a line where the line is known.
std::uint64_t stride_of(const SmCache& cache) {
  for (const char* name : {"line_size", "sector_size"})
    if (const Estimate* e = cache.memory.find(name); e != nullptr && e->has_value())
      return static_cast<std::uint64_t>(*e->value);
  return tiny_stride;
}

// The loads that miss when somewhat more than the capacity is walked, less the mean of hits. Walks at several places,
// since a small one may lie on one side of the next level alone; twice the capacity at most, since the next level may
// not hold much more. From each of `sms` alone, or from wherever the device puts a program if there are none.
Expected<Estimate> measure_miss_penalty(Session& session, const CachePath& path, const SmCache& cache,
                                        std::uint64_t l2_bytes, const std::vector<std::uint32_t>& sms) {
  const std::uint64_t line_bytes = stride_of(cache);
  constexpr std::uint64_t places = 8;
  const std::uint64_t limit = path.slot == slot_constant ? session.info().constant_bytes_per_module : sweep_limit_bytes;
  // What misses should be found in the L2, even where that isn't twice as large.
  const std::uint64_t in_l2 = l2_bytes * 3 / 4;
  std::uint64_t bytes = std::min(limit, 2 * cache.capacity_bytes);
  if (in_l2 != 0 && bytes > in_l2) bytes = std::max(in_l2, cache.capacity_bytes * 9 / 8) / line_bytes * line_bytes;
  const std::uint64_t apart = std::min<std::uint64_t>((limit - bytes) / places, 64 << 10) / line_bytes * line_bytes;
  program::Batch batch;
  for (std::uint64_t i = 0; i < places; ++i) {
    program::Program p = make_program(fmt::format("{} miss penalty", path.id), session.info(), path.slot);
    program::Walk warm = make_walk(path, bytes, line_bytes, 2);
    warm.first_byte = i * apart;
    p.phases = {warm, recorded(warm, Record::histogram, 1)};
    if (sms.empty()) batch.push_back(p);
    if (!sms.empty()) p.isolation = Scope::gpu;
    for (const std::uint32_t sm : sms) {
      p.agents = {{sm, 0}};
      batch.push_back(p);
    }
  }
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  Histogram all;
  for (const auto& trace : *traces) all = merged(all, trace.phases.back().histogram);
  const Histogram misses = between(all, cache.threshold_cycles, 1e9);
  const std::uint64_t n = total(misses);
  if (n < 8) return inconclusive("cycles", "miss_latency", "too few loads miss when twice the capacity is walked");
  const Mode nearest = lowest_mode(misses);
  const double hit_cycles = *cache.hit.estimate.value + cache.hit.overhead_cycles;
  return penalty_of(nearest, hit_cycles, n);
}

// Both answers where both exist: residency counts, the change point must not contradict it.
Estimate combine(const Estimate& by_change_point, const std::optional<Estimate>& by_residency, double line_bytes) {
  if (!by_residency) return by_change_point;
  Estimate e = *by_residency;
  if (by_change_point.status != Status::measured) return e;
  e.samples += by_change_point.samples;
  if (std::fabs(*by_change_point.value - *e.value) <= line_bytes) {
    e.note = "";
    return e;
  }
  e.confidence = 0.9;
  e.note = fmt::format("the change point of the miss curve says {:.0f} B", *by_change_point.value);
  return e;
}

// The size to a line: one load a line, around `cache.capacity_bytes` or, where that is unknown, in `bracket`.
Expected<change_point::Finding> measure_with_lines(Session& session, const CachePath& path, const SmCache& cache,
                                                   std::uint64_t limit_bytes, std::uint64_t line_bytes,
                                                   const Bracket* bracket) {
  const SearchSpec spec{path, line_bytes, tiny_bytes, limit_bytes, cache.threshold_cycles, Scope::sm};
  if (bracket != nullptr) return narrow(session, spec, *bracket, line_bytes);
  const Bracket near{std::max(tiny_bytes, cache.capacity_bytes * 15 / 16),
                     std::min(limit_bytes, cache.capacity_bytes * 9 / 8 + 4 * line_bytes)};
  return narrow(session, spec, near, line_bytes);
}

// Whether what seems to fit thrashes once it is loaded at half the stride. A single line that the kernel's own
// constants push out again and again doesn't make it thrash.
Expected<bool> leaves_lines_out(Session& session, const CachePath& path, std::uint64_t fits_bytes,
                                std::uint64_t half_stride_bytes, double threshold_cycles) {
  constexpr double thrashes_from = 0.12;
  program::Program p = make_program(fmt::format("{} at half the stride", path.id), session.info(), path.slot);
  const program::Walk warm = make_walk(path, fits_bytes, half_stride_bytes, 4);
  p.phases = {warm, recorded(warm, Record::histogram, 4)};
  auto traces = session.run({p});
  if (!traces) return tl::unexpected<Error>(traces.error());
  const auto& timed = traces->front().phases.back().histogram;
  const auto misses = static_cast<double>(count_from(timed, threshold_cycles));
  return misses > thrashes_from * static_cast<double>(total(timed));
}

struct Exact {
  change_point::Finding size;
  Estimate line;
  std::uint64_t line_bytes = 0;
};

// The line, and with it the size, of a cache whose capacity is about `cache.capacity_bytes`. `bracket` where that isn't
// known any better.
Expected<Exact> measure_exactly(Session& session, const CachePath& path, const SmCache& cache, const SearchSpec& spec,
                                const Bracket* bracket) {
  const std::uint64_t sector_bytes = spec.stride_bytes;
  auto line = measure_line_size(session, path, cache.capacity_bytes, sector_bytes, cache.threshold_cycles);
  if (!line) return tl::unexpected<Error>(line.error());
  const std::uint64_t line_bytes = line->has_value() ? static_cast<std::uint64_t>(*line->value) : sector_bytes;
  auto size = measure_with_lines(session, path, cache, spec.limit_bytes, line_bytes, bracket);
  if (!size) return tl::unexpected<Error>(size.error());
  Exact exact{*size, *line, line_bytes};
  // Loads further apart than a line leave lines out, and the cache seems to hold more than when each sector is loaded.
  const auto seems_larger = [&] {
    if (bracket != nullptr) return false;
    return exact.size.verdict == Verdict::lower_bound ||
           (exact.size.verdict == Verdict::value && exact.size.value > 1.4 * static_cast<double>(cache.capacity_bytes));
  };
  while (seems_larger() && exact.line_bytes > sector_bytes) {
    auto left_out = leaves_lines_out(session, path, static_cast<std::uint64_t>(exact.size.value), exact.line_bytes / 2,
                                     cache.threshold_cycles);
    if (!left_out) return tl::unexpected<Error>(left_out.error());
    if (!*left_out) break;
    exact.line_bytes /= 2;
    exact.line.value = static_cast<double>(exact.line_bytes);
    exact.line.interval = Interval{*exact.line.value, *exact.line.value};
    size = measure_with_lines(session, path, cache, spec.limit_bytes, exact.line_bytes, nullptr);
    if (!size) return tl::unexpected<Error>(size.error());
    exact.size = *size;
  }
  return exact;
}

Expected<void> measure_size(Session& session, const CachePath& path, SmCache& cache, std::uint64_t sector_bytes) {
  SearchSpec spec{path, sector_bytes, tiny_bytes, sweep_limit_bytes / 4, cache.threshold_cycles, Scope::sm};
  if (path.slot == slot_constant) spec.limit_bytes = session.info().constant_bytes_per_module;
  auto& attributes = cache.memory.attributes;
  spec.warm_laps = 1;

  auto bracket = search_by_doubling(session, spec);
  if (!bracket) return tl::unexpected<Error>(bracket.error());
  if (bracket->overflows_bytes == 0) {
    Estimate bound = measured(static_cast<double>(bracket->fits_bytes), "B", "doubling", 0);
    bound.status = Status::lower_bound;
    bound.note = "the largest footprint tried still fits";
    attributes["size"] = bound;
    attributes["line_size"] = inconclusive("B", "shifted_stride", "needs the size");
    return {};
  }
  // A first idea of the capacity is enough for the line; with the line the sweep loads each line once.
  auto rough = narrow(session, spec, *bracket, std::max(sector_bytes, bracket->overflows_bytes / 64));
  if (!rough) return tl::unexpected<Error>(rough.error());
  const bool found = rough->verdict == Verdict::value;
  cache.capacity_bytes = found ? static_cast<std::uint64_t>(rough->value) : bracket->fits_bytes;
  auto exact = measure_exactly(session, path, cache, spec, found ? nullptr : &*bracket);
  if (!exact) return tl::unexpected<Error>(exact.error());
  if (exact->size.verdict == Verdict::inconclusive || exact->size.verdict == Verdict::upper_bound) {
    // Lines that something else takes can look like the onset, with what really follows out of view.
    const Bracket wider{cache.capacity_bytes, std::min(spec.limit_bytes, 2 * bracket->overflows_bytes)};
    rough = narrow(session, spec, wider, sector_bytes);
    if (!rough) return tl::unexpected<Error>(rough.error());
    if (rough->verdict == Verdict::value) {
      cache.capacity_bytes = static_cast<std::uint64_t>(rough->value);
      exact = measure_exactly(session, path, cache, spec, nullptr);
      if (!exact) return tl::unexpected<Error>(exact.error());
    }
  }
  attributes["line_size"] = exact->line;
  // The pattern that tells the line builds on the capacity.
  if (exact->size.verdict == Verdict::inconclusive || exact->size.verdict == Verdict::upper_bound)
    attributes["line_size"] = inconclusive("B", "shifted_stride", "needs the size");
  std::uint64_t line_bytes = exact->line_bytes;
  const Estimate by_change_point = to_estimate(exact->size, "B");
  if (by_change_point.status == Status::measured)
    cache.capacity_bytes = static_cast<std::uint64_t>(*by_change_point.value);
  std::optional<Estimate> by_residency;
  const bool probes = session.info().has_no_allocate && session.options().method == Method::standard &&
                      (path.path == Path::global_cached || path.path == Path::read_only);
  if (probes) {
    auto counted = measure_residency(session, path, cache.capacity_bytes, sector_bytes, cache.threshold_cycles);
    if (!counted) return tl::unexpected<Error>(counted.error());
    by_residency = *counted;
  }
  if (!by_residency && session.options().method == Method::standard && by_change_point.status == Status::measured) {
    auto counted = measure_reverse_residency(session, path, cache.capacity_bytes, line_bytes, cache.threshold_cycles);
    if (!counted) return tl::unexpected<Error>(counted.error());
    // A count below the footprint that fits tells of another replacement; one far above it of another cache.
    const double fits = *by_change_point.value;
    if (*counted && *(*counted)->value >= fits && *(*counted)->value <= 1.5 * fits) by_residency = *counted;
  }
  // Lines that something else takes can hide how much there is, and the pattern that tells the line builds on that.
  constexpr double hidden = 1.1;
  if (by_residency && by_change_point.status == Status::measured &&
      *by_residency->value > hidden * *by_change_point.value) {
    const auto counted_bytes = static_cast<std::uint64_t>(*by_residency->value);
    auto line = measure_line_size(session, path, counted_bytes, sector_bytes, cache.threshold_cycles);
    if (!line) return tl::unexpected<Error>(line.error());
    attributes["line_size"] = *line;
    if (line->has_value()) line_bytes = static_cast<std::uint64_t>(*line->value);
    if (!probes && line_bytes != exact->line_bytes) {
      auto counted = measure_reverse_residency(session, path, counted_bytes, line_bytes, cache.threshold_cycles);
      if (!counted) return tl::unexpected<Error>(counted.error());
      if (*counted) by_residency = *counted;
    }
  }
  attributes["size"] = combine(by_change_point, by_residency, static_cast<double>(line_bytes));
  if (is_usable(attributes["size"])) cache.capacity_bytes = static_cast<std::uint64_t>(*attributes["size"].value);
  return {};
}

}  // namespace

Expected<bool> bypasses_l1(Session& session, const CachePath& path, const HitLatency& hit) {
  CachePath past_l1 = path;
  past_l1.path = Path::global_l2_only;
  past_l1.slot = slot_global;
  auto slow = measure_hit_latency(session, past_l1, tiny_bytes, tiny_stride);
  if (!slow) return tl::unexpected<Error>(slow.error());
  const double difference = *slow->estimate.value - *hit.estimate.value;
  return difference < 0.1 * *slow->estimate.value;
}

Expected<void> settle_miss_penalty(Session& session, const CachePath& path, SmCache& cache, double l2_near_cycles,
                                   double l2_far_cycles) {
  Estimate& penalty = cache.memory.attributes["miss_penalty"];
  if (!cache.present || !penalty.has_value() || cache.capacity_bytes == 0) return {};
  if (*cache.hit.estimate.value + *penalty.value < (l2_near_cycles + l2_far_cycles) / 2) return {};
  std::vector<std::uint32_t> sms(session.info().gpu.sm_count);
  std::iota(sms.begin(), sms.end(), 0U);
  // Where each side keeps copies of the other's lines, it has room for its own half of the L2 only.
  auto again = measure_miss_penalty(session, path, cache, session.info().l2_bytes / 2, sms);
  if (!again) return tl::unexpected<Error>(again.error());
  if (again->has_value() && *again->value < *penalty.value) penalty = *again;
  return {};
}

Expected<SmCache> measure_sm_cache(Session& session, const CachePath& path) {
  SmCache cache;
  cache.memory.id = path.id;
  cache.memory.label = path.label;
  cache.memory.physical_cache = path.id;
  auto& attributes = cache.memory.attributes;
  if (path.slot == slot_constant && session.info().constant_modules == 0) {
    set_absent(cache.memory, "this GPU has no constant memory");
    return cache;
  }
  auto hit = measure_hit_latency(session, path, tiny_bytes, tiny_stride);
  if (!hit) return tl::unexpected<Error>(hit.error());
  cache.hit = *hit;
  if (path.slot != slot_constant) {
    auto bypassed = bypasses_l1(session, path, *hit);
    if (!bypassed) return tl::unexpected<Error>(bypassed.error());
    if (*bypassed) {
      set_absent(cache.memory, "these loads are as slow as loads that go past L1: this GPU doesn't cache them there");
      return cache;
    }
  }
  cache.present = true;
  attributes["latency"] = hit->estimate;
  cache.threshold_cycles = miss_threshold(*hit);
  auto sector = measure_fetch_granularity(session, path, cache.threshold_cycles);
  if (!sector) return tl::unexpected<Error>(sector.error());
  attributes["sector_size"] = *sector;
  const std::uint64_t sector_bytes = sector->has_value() ? static_cast<std::uint64_t>(*sector->value) : tiny_stride;
  if (auto ok = measure_size(session, path, cache, sector_bytes); !ok) return tl::unexpected<Error>(ok.error());
  if (cache.capacity_bytes == 0) {
    attributes["miss_penalty"] = inconclusive("cycles", "miss_latency", "no footprint misses");
    return cache;
  }
  auto penalty = measure_miss_penalty(session, path, cache, session.info().l2_bytes, {});
  if (!penalty) return tl::unexpected<Error>(penalty.error());
  attributes["miss_penalty"] = *penalty;
  return cache;
}

}  // namespace gputopo::experiments
