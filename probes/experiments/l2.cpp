#include "experiments/l2.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "experiments/device_memory.hpp"
#include "experiments/estimates.hpp"
#include "experiments/fetch_granularity.hpp"
#include "experiments/hit_latency.hpp"
#include "experiments/l2_search.hpp"
#include "experiments/line_size.hpp"
#include "experiments/modes.hpp"

namespace gputopo::experiments {
namespace {

using program::Record;
using program::Walk;

constexpr std::uint64_t mebi = 1 << 20;
constexpr std::uint64_t small_bytes = 64 << 10;  // fits into every L2 there has been
constexpr std::uint64_t stride_bytes = 128;      // of small footprints
constexpr double no_limit = 1e9;
constexpr std::uint32_t many_laps = 64;  // of small footprints: settles any replacement

struct Search {
  HitLatency hit;
  std::vector<Mode> hit_modes;  // near, and far where lines have one home only
  double threshold_cycles = 0;  // a timed load at or above it is slower than every small-footprint hit
};

void set_absent(Memory& memory, std::string_view why) {
  for (const char* name : {"size", "line_size", "sector_size"}) memory.attributes[name] = not_supported("B", why);
  for (const char* name : {"latency", "miss_penalty"}) memory.attributes[name] = not_supported("cycles", why);
}

// What has to be walked to push everything else out, as far as the driver's word goes.
std::uint64_t flush_bytes(const Session& session) {
  return std::max(4 * session.info().l2_bytes, 32 * mebi);
}

// Cold loads after a flush, word by word: their misses tell the sector, their latency whether there is a cache at all.
Expected<std::vector<std::uint32_t>> cold_latencies(Session& session) {
  constexpr std::uint64_t cold_bytes = 8192;
  program::Program p = make_program("l2 cold", session.info(), slot_flush);
  p.isolation = Scope::gpu;
  const std::uint64_t flush = flush_bytes(session);
  p.buffers[slot_flush].size_bytes = flush + mebi;
  Walk cold = recorded(make_walk(l2_path, cold_bytes, 4, 1), Record::latencies, 1);
  cold.first_byte = flush + mebi / 2;
  p.phases = {flush_walk(session, flush), cold};
  auto traces = session.run({p});
  if (!traces) return tl::unexpected<Error>(traces.error());
  return traces->front().phases.back().latencies;
}

Expected<Search> measure_hits(Session& session) {
  Search search;
  auto hit = measure_hit_latency(session, l2_path, small_bytes, stride_bytes);
  if (!hit) return tl::unexpected<Error>(hit.error());
  search.hit = *hit;
  auto rows = l2_curve(session, {small_bytes, 2 * small_bytes}, stride_bytes, many_laps);
  if (!rows) return tl::unexpected<Error>(rows.error());
  const Histogram timed = merged(rows->front().timed, rows->back().timed);
  search.hit_modes = modes_of(timed, 0.1);
  const double slowest = quantile(timed, 0.99).value_or(0);
  search.threshold_cycles = slowest + std::max(12.0, 0.1 * search.hit_modes.back().median);
  return search;
}

// The shifted pattern, its second region `gap_bytes` behind the first; a sample of the first is recorded.
program::Program line_program(const Session& session, std::uint64_t capacity_bytes, std::uint64_t stride,
                              std::uint64_t gap_bytes, std::uint32_t warm_laps) {
  program::Program p = make_program(fmt::format("l2 line size, stride {}", stride), session.info(), slot_flush);
  p.isolation = Scope::gpu;
  p.buffers[slot_flush].size_bytes = std::max(2 * capacity_bytes + gap_bytes, slot_bytes);
  p.phases = shifted_pattern(l2_path, capacity_bytes, stride, gap_bytes, warm_laps,
                             std::max<std::uint32_t>(1, session.info().warps_per_block * 32));
  Walk sample = recorded(std::get<Walk>(p.phases.front()), Record::histogram, 1);
  sample.order = program::Order::shuffled;
  sample.loads_per_lap = std::min<std::uint64_t>(1024, program::positions(sample));
  p.phases.emplace_back(sample);
  return p;
}

// Whether the shifted pattern of that stride fits with its regions further apart. Few rows of a hashed cache may put
// both regions into the same sets; elsewhere they meet other rows.
Expected<bool> fits_elsewhere(Session& session, std::uint64_t capacity_bytes, std::uint64_t stride,
                              double threshold_cycles, std::uint32_t warm_laps) {
  constexpr std::uint64_t fits_below_percent = 12;
  program::Batch batch;
  for (std::uint64_t thirds = 1; thirds <= 6; ++thirds)
    batch.push_back(line_program(session, capacity_bytes, stride,
                                 (capacity_bytes * thirds / 3 / stride + thirds) * stride, warm_laps));
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  return std::any_of(traces->begin(), traces->end(), [&](const program::ProgramTrace& trace) {
    const Histogram& timed = trace.phases.back().histogram;
    return 100 * count_from(timed, threshold_cycles) < fits_below_percent * total(timed);
  });
}

Expected<Estimate> measure_line(Session& session, std::uint64_t capacity_bytes, std::uint64_t sector_bytes,
                                double threshold_cycles, std::uint32_t warm_laps) {
  const auto strides = line_size_strides(sector_bytes, std::min<std::uint64_t>(capacity_bytes, 8192));
  program::Batch batch;
  batch.reserve(strides.size());
  for (const std::uint64_t stride : strides)
    batch.push_back(line_program(session, capacity_bytes, stride, 0, warm_laps));
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  std::vector<ShiftedMisses> misses;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    const L2Row row{0, (*traces)[i].phases.back().histogram};
    misses.push_back({strides[i], share_between(row, threshold_cycles, no_limit), total(row.timed)});
  }
  Estimate line = line_size_of(misses, sector_bytes);
  // A large L2 would take long, and has more ways, whose rows don't all fall alike.
  while (capacity_bytes <= small_l2_bytes && line.has_value() && *line.value > static_cast<double>(sector_bytes)) {
    const auto stride = static_cast<std::uint64_t>(*line.value);
    auto fits = fits_elsewhere(session, capacity_bytes, stride, threshold_cycles, warm_laps);
    if (!fits) return tl::unexpected<Error>(fits.error());
    if (!*fits) break;
    line.value = *line.value / 2;
    line.interval = Interval{*line.value, *line.value};
  }
  return line;
}

// The largest footprint whose loads stay at the near level, between `low` and `high`: one sweep of `rows` footprints.
Expected<change_point::Finding> find_onset(Session& session, double threshold_cycles, std::uint64_t stride,
                                           std::uint32_t warm_laps, std::uint64_t low, std::uint64_t high,
                                           std::size_t rows) {
  auto curve = l2_curve(session, spaced(low, high, rows), stride, warm_laps);
  if (!curve) return tl::unexpected<Error>(curve.error());
  // Always the default method: the thesis takes the L2's size from the driver.
  change_point::Options options;
  options.seed = session.options().seed;
  return change_point::find_size(classified(*curve, threshold_cycles, no_limit), options);
}

struct Onset {
  Estimate estimate;
  Estimate line;
  std::uint32_t warm_laps = few_laps;
};

// Doubling and a coarse sweep with a load a sector; that is enough for the line, and with the line two finer sweeps
// load each line once.
Expected<Onset> measure_onset(Session& session, double threshold_cycles, std::uint64_t sector_bytes) {
  Onset onset;
  onset.line = inconclusive("B", "shifted_stride", "needs the size");
  auto bracket = bracket_l2(session, threshold_cycles, sector_bytes, 2 * small_bytes);
  if (!bracket) return tl::unexpected<Error>(bracket.error());
  const std::uint32_t laps = onset.warm_laps = bracket->warm_laps;
  if (bracket->overflows_bytes == 0) {
    onset.estimate = measured(static_cast<double>(bracket->fits_bytes), "B", "doubling", 0);
    onset.estimate.status = Status::lower_bound;
    onset.estimate.note = "the largest footprint tried still fits";
    return onset;
  }
  const std::uint64_t low = std::max(small_bytes, bracket->fits_bytes * 3 / 4);
  auto finding = find_onset(session, threshold_cycles, sector_bytes, laps, low, bracket->overflows_bytes, 17);
  if (!finding) return tl::unexpected<Error>(finding.error());
  std::uint64_t step = (bracket->overflows_bytes - low) / 16;
  std::uint64_t stride = sector_bytes;
  for (int stage = 0; stage < 2 && finding->verdict == change_point::Verdict::value; ++stage) {
    const auto found = static_cast<std::uint64_t>(finding->value);
    if (stage == 0) {
      // Where sets fill unevenly the onset comes early, and a pattern made for it would fit.
      const std::uint64_t api = session.info().l2_bytes;
      const std::uint64_t about = found + step / 2;
      const bool early = about < api && 10 * about > 7 * api;
      auto line = measure_line(session, early ? api : about, sector_bytes, threshold_cycles, laps);
      if (!line) return tl::unexpected<Error>(line.error());
      onset.line = *line;
      if (line->has_value()) stride = static_cast<std::uint64_t>(*line->value);
    }
    const std::uint64_t from = found > 2 * step + small_bytes ? found - 2 * step : small_bytes;
    auto finer = find_onset(session, threshold_cycles, stride, laps, from, found + 2 * step, 25);
    if (!finer) return tl::unexpected<Error>(finer.error());
    // A hashed L2 begins to miss gradually: where a closer look shows no onset, the wider one stands.
    if (finer->verdict != change_point::Verdict::value) break;
    finding = finer;
    step = std::max<std::uint64_t>(step / 6, 4096);
  }
  onset.estimate = to_estimate(*finding, "B");
  return onset;
}

// A capacity by counting: where what stays in a cache doesn't follow the footprint (random-like replacement), the
// median of `resident_bytes` over the footprints is the capacity; nothing otherwise.
std::optional<Estimate> counted_capacity(const std::vector<double>& resident_bytes, std::uint64_t samples) {
  if (resident_bytes.size() < 4) return std::nullopt;
  const double middle = median(resident_bytes);
  std::vector<double> deviations;
  deviations.reserve(resident_bytes.size());
  for (const double bytes : resident_bytes) deviations.push_back(std::fabs(bytes - middle));
  const double spread = 1.4826 * median(deviations);
  if (spread > 0.05 * middle) return std::nullopt;
  const double error = 2 * 1.2533 * spread / std::sqrt(static_cast<double>(resident_bytes.size()));
  Estimate e = measured(std::round(middle / 4096) * 4096, "B", "residency", samples);
  e.interval = Interval{std::floor(middle - error), std::ceil(middle + error)};
  e.confidence = 0.95;
  return e;
}

// What of footprints larger than the cache stays in it. Where sets fill unevenly, the first of them to overflow ends
// what fits, and the capacity is more than that.
Expected<std::optional<Estimate>> count_resident(Session& session, const Search& search, std::uint64_t about_bytes,
                                                 std::uint64_t line_bytes, std::uint32_t warm_laps) {
  auto rows =
      l2_curve_gently(session, spaced(about_bytes * 3 / 2, about_bytes * 2, 5), line_bytes, warm_laps, about_bytes);
  if (!rows) return tl::unexpected<Error>(rows.error());
  std::vector<double> resident;
  std::uint64_t samples = 0;
  for (const L2Row& row : *rows) {
    resident.push_back(share_between(row, 0, search.threshold_cycles) * static_cast<double>(row.bytes));
    samples += total(row.timed);
  }
  return counted_capacity(resident, samples);
}

// One side's capacity: near hits of every footprint, else the onset of the first far hits.
Estimate near_capacity(const std::vector<L2Row>& rows, double threshold_cycles, const Estimate& onset) {
  std::vector<double> resident;
  std::uint64_t samples = 0;
  for (const L2Row& row : rows) {
    resident.push_back(share_between(row, 0, threshold_cycles) * static_cast<double>(row.bytes));
    samples += total(row.timed);
  }
  auto counted = counted_capacity(resident, samples);
  if (!counted || std::fabs(*counted->value - *onset.value) > 0.15 * *onset.value) return onset;
  counted->interval =
      Interval{std::min(*onset.value, counted->interval->low), std::max(*onset.value, counted->interval->high)};
  return *counted;
}

// The whole capacity: what of each larger footprint isn't in memory behind the far side, else the onset of such loads.
// Where the slowest level holds the lines of one side only, each of its loads stands for `weight`.
Estimate whole_capacity(const std::vector<L2Row>& rows, double from, double to, std::uint64_t weight,
                        const change_point::Options& options) {
  std::vector<double> resident;
  std::uint64_t samples = 0;
  for (const L2Row& row : rows) {
    const double missing = static_cast<double>(weight) * share_between(row, from, to);
    if (missing < 0.05) continue;
    resident.push_back((1 - missing) * static_cast<double>(row.bytes));
    samples += total(row.timed);
  }
  if (const auto counted = counted_capacity(resident, samples)) return *counted;
  return to_estimate(change_point::find_size(classified(rows, from, to, weight), options), "B");
}

// Past one side's capacity: the far hits' latency, and from where on even far lines come from memory.
Expected<void> measure_partitions(Session& session, L2& l2, const Search& search, const Onset& found,
                                  std::uint64_t line_bytes) {
  const Estimate& onset = found.estimate;
  auto& attributes = l2.memory.attributes;
  const std::uint64_t api = session.info().l2_bytes;
  const double overhead = search.hit.overhead_cycles;
  const auto near_bytes = static_cast<std::uint64_t>(*onset.value);
  auto rows =
      l2_curve_gently(session, spaced(near_bytes * 5 / 4, api * 7 / 4, 25), line_bytes, found.warm_laps, near_bytes);
  if (!rows) return tl::unexpected<Error>(rows.error());
  attributes["partition_size"] = near_capacity(*rows, search.threshold_cycles, onset);
  // Far hits are what all footprints within the whole capacity have in common beyond near hits.
  Histogram within;
  for (const L2Row& row : *rows)
    if (row.bytes <= api) within = merged(within, between(row.timed, search.threshold_cycles, no_limit));
  const auto levels_within = modes_of(within, 0.15);
  Histogram beyond;
  for (const L2Row& row : *rows)
    if (row.bytes > api * 4 / 3) beyond = merged(beyond, between(row.timed, search.threshold_cycles, no_limit));
  const auto levels_beyond = modes_of(beyond, 0.08);
  if (levels_within.empty() || levels_beyond.empty()) return {};
  attributes["far_latency"] = measured(levels_within.front().median - overhead, "cycles", "timed_hits", total(within));
  attributes["partitions"] =
      measured(std::round(static_cast<double>(api) / *onset.value), "", "size_ratio", onset.samples);
  if (levels_beyond.size() < 2) return {};
  // The slowest level is memory behind the far side; longer outliers (refresh) belong to every level.
  const Mode& slowest = levels_beyond.back();
  const Mode& next = levels_beyond[levels_beyond.size() - 2];
  const double from = (slowest.median + next.median) / 2;
  const double to = slowest.median + (slowest.median - from);
  // Where near memory is a level of its own, the slowest one holds the lines of one side only: half of them.
  const std::uint64_t weight = levels_beyond.size() > 2 ? 2 : 1;
  attributes["measured_size"] = whole_capacity(*rows, from, to, weight, session.change_point_options());
  return {};
}

// Small footprints with a near and a far level: every line lives in one partition only. Lines are spread evenly, so the
// near share tells how many partitions there are; beyond the first, all are equally far.
void add_home_partitions(Memory& memory, const std::vector<Mode>& hit_modes, double size_bytes) {
  if (hit_modes.size() != 2 || memory.find("partition_size") != nullptr) return;
  const double count = std::round(1 / hit_modes.front().share);
  if (count < 2) return;
  const std::uint64_t samples = memory.attributes["far_latency"].samples;
  memory.attributes["partitions"] = measured(count, "", "near share", samples);
  memory.attributes["partition_size"] = measured(size_bytes / count, "B", "near share", samples);
}

}  // namespace

Expected<L2> measure_l2(Session& session) {
  L2 l2;
  Memory& memory = l2.memory;
  memory.id = l2_path.id;
  memory.label = l2_path.label;
  memory.parent = "device_memory";
  auto& attributes = memory.attributes;
  auto search = measure_hits(session);
  if (!search) return tl::unexpected<Error>(search.error());
  auto cold = cold_latencies(session);
  if (!cold) return tl::unexpected<Error>(cold.error());
  // A few slow loads (the TLB's first) don't make a cache; one miss in every sector does.
  const auto slow =
      std::count_if(cold->begin(), cold->end(), [&](std::uint32_t c) { return c >= search->threshold_cycles; });
  if (static_cast<std::size_t>(slow) * 100 < cold->size()) {
    set_absent(memory,
               "loads that were never made before are as fast as repeated ones: global loads have no cache behind L1");
    l2.latency_cycles = *search->hit.estimate.value;
    return l2;
  }
  l2.latency_cycles = search->hit_modes.front().median - search->hit.overhead_cycles;
  attributes["latency"] = search->hit.estimate;
  l2.overhead_cycles = search->hit.overhead_cycles;
  if (search->hit_modes.size() > 1) {
    attributes["latency"] = measured(l2.latency_cycles, "cycles", "timed_hits", search->hit.estimate.samples);
    attributes["far_latency"] = measured(search->hit_modes.back().median - search->hit.overhead_cycles, "cycles",
                                         "timed_hits", search->hit.estimate.samples);
  } else {
    l2.latency_cycles = *search->hit.estimate.value;
  }
  attributes["sector_size"] = fetch_granularity_of(*cold, 4, search->threshold_cycles);
  const Estimate& sector = attributes["sector_size"];
  const std::uint64_t sector_bytes = sector.has_value() ? static_cast<std::uint64_t>(*sector.value) : 32;

  auto found = measure_onset(session, search->threshold_cycles, sector_bytes);
  if (!found) return tl::unexpected<Error>(found.error());
  const Estimate& onset = found->estimate;
  attributes["line_size"] = found->line;
  const std::uint64_t line_bytes =
      found->line.has_value() ? static_cast<std::uint64_t>(*found->line.value) : sector_bytes;
  const auto api = static_cast<double>(session.info().l2_bytes);
  if (api == 0) {
    attributes["size"] = onset;
    l2.capacity_bytes = onset.has_value() ? static_cast<std::uint64_t>(*onset.value) : 0;
    return l2;
  }
  l2.capacity_bytes = session.info().l2_bytes;
  Estimate size = from_api(api, "B");
  if (onset.status == Status::measured && *onset.value < 0.75 * api) {
    if (auto ok = measure_partitions(session, l2, *search, *found, line_bytes); !ok)
      return tl::unexpected<Error>(ok.error());
  } else {
    attributes["measured_size"] = onset;
    if (onset.status == Status::measured && std::fabs(*onset.value - api) > 0.04 * api) {
      auto counted = count_resident(session, *search, static_cast<std::uint64_t>(std::max(api, *onset.value)),
                                    line_bytes, found->warm_laps);
      if (!counted) return tl::unexpected<Error>(counted.error());
      if (*counted && *(*counted)->value > *onset.value) attributes["measured_size"] = **counted;
    }
  }
  if (const Estimate* whole = memory.find("measured_size"); whole != nullptr && whole->status == Status::measured) {
    size.interval = whole->interval;
    const double difference = std::fabs(*whole->value - api) / api;
    size.note = fmt::format("measured {:.1f} MiB, {:.0f} % from it", *whole->value / mebi, 100 * difference);
  }
  attributes["size"] = size;
  add_home_partitions(l2.memory, search->hit_modes, *size.value);
  return l2;
}

}  // namespace gputopo::experiments
