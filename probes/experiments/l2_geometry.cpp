// Size and line of the L2: all lanes of one SM warm a footprint, one thread samples it. Loads that no cache served tell
// the whole capacity. What is slower than a hit before that is one of three things, each with an experiment of its own:
// lines of another side, pages that a TLB doesn't hold (slow also where few lines of each page are touched), or a cache
// behind this one.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "evidence/estimates.hpp"
#include "evidence/footprint.hpp"
#include "evidence/line.hpp"
#include "evidence/search.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;
using program::Record;
using program::Walk;

constexpr std::uint64_t kibi = 1 << 10;
constexpr std::uint64_t mebi = 1 << 20;
constexpr std::uint64_t small_bytes = 64 * kibi;  // fits into every L2 there has been
constexpr std::uint64_t unit_bytes = 4 * kibi;
constexpr std::uint64_t most_loads = 1024;
constexpr std::uint32_t warm_laps = 2;

class Rows {
 public:
  Rows(Session& session, std::uint64_t stride) : session_(session), stride_(stride) {}

  program::Program program(std::uint64_t bytes, std::uint32_t patience, std::uint64_t seed,
                           std::uint64_t stride) const {
    program::Program p = make_program(fmt::format("l2 {} B", bytes), session_.info(), slot_flush);
    p.isolation = Scope::gpu;
    p.buffers[slot_flush].size_bytes = std::max(bytes, slot_bytes);
    const Walk warm = by_all_lanes(make_walk(l2_path, bytes, stride, warm_laps * patience), session_.info());
    Walk sample = recorded(warm, Record::histogram, 1);
    sample.order = program::Order::shuffled;
    sample.order_seed = session_.settings().seed + seed;
    sample.loads_per_lap = std::min(most_loads, program::positions(sample));
    p.phases = {warm, sample};
    return p;
  }

  Expected<std::vector<Histogram>> histograms(const std::vector<RowRequest>& rows, std::size_t replicates,
                                              std::uint64_t stride) {
    program::Batch batch;
    for (const RowRequest& row : rows)
      for (std::size_t i = 0; i < replicates; ++i)
        batch.push_back(program(row.footprint_bytes, row.patience, i, stride));
    auto traces = session_.run(batch);
    if (!traces) return tl::unexpected<Error>(traces.error());
    std::vector<Histogram> all;
    for (const auto& trace : *traces) all.push_back(trace.phases.back().histogram);
    return all;
  }

  // Counts loads that took `threshold_cycles` or longer.
  CountRows counter(double threshold_cycles) {
    return [this, threshold_cycles](const std::vector<RowRequest>& rows, std::size_t replicates) -> Expected<Counts> {
      auto all = histograms(rows, replicates, stride_);
      if (!all) return tl::unexpected<Error>(all.error());
      Counts counts;
      for (std::size_t i = 0; i < all->size(); ++i)
        counts.push_back({static_cast<double>(rows[i / replicates].footprint_bytes), total((*all)[i]),
                          count_from((*all)[i], threshold_cycles), static_cast<std::uint32_t>(i % replicates)});
      return counts;
    };
  }

  std::uint64_t stride() const { return stride_; }

 private:
  Session& session_;
  std::uint64_t stride_;
};

std::uint64_t limit_of(const Session& session) {
  return std::min(session.info().largest_buffer_bytes / 2, std::max(4 * session.info().l2_bytes, 256 * mebi));
}

Expected<SearchResult> search(Session& session, Rows& rows, const Levels& levels, std::uint64_t first,
                              std::uint64_t limit) {
  SearchSpec spec;
  spec.count = rows.counter(levels.threshold_cycles);
  spec.sweep = {static_cast<double>(rows.stride()),
                false,
                {levels.false_miss, levels.false_hit, static_cast<double>(total(levels.hit))}};
  spec.unit_bytes = unit_bytes;
  spec.first_bytes = first;
  spec.limit_bytes = limit;
  spec.rows = 16;
  spec.replicates = 2;
  // One part in 64 of the driver's figure, the finest that a thousand loads tell of the share that misses.
  spec.resolution_bytes = std::max(unit_bytes, session.info().l2_bytes / 64);
  spec.most_patience = session.info().l2_bytes <= 8 * mebi ? 16 : 1;  // larger ones don't get the time
  return search_capacity(spec);
}

struct Between {
  Levels levels;
  SearchResult found;
};

// What is slower than a hit at footprints that hold nothing of memory yet; nothing where all of them hit alike.
Expected<std::optional<Between>> levels_between(Session& session, Rows& rows, const Levels& l2,
                                                std::uint64_t whole_bytes) {
  constexpr double a_share_of_loads = 0.25;  // half of what the smallest of two sides leaves out of a full one
  auto timed =
      rows.histograms({{small_bytes, 16}, {whole_bytes * 15 / 16 / unit_bytes * unit_bytes, 1}}, 2, rows.stride());
  if (!timed) return tl::unexpected<Error>(timed.error());
  const Histogram small = merged((*timed)[0], (*timed)[1]);
  const Histogram large = between(merged((*timed)[2], (*timed)[3]), 0, l2.threshold_cycles);
  Between result;
  result.levels = levels_of(small, large);
  if (result.levels.told_apart() < a_share_of_loads || result.levels.doubt > 1e-6) return std::optional<Between>();
  // The large footprint is a mixture of hits and what is slower: what misses is slower for sure.
  result.levels.false_hit = l2.false_hit;
  auto found = search(session, rows, result.levels, small_bytes, whole_bytes * 2);
  if (!found) return tl::unexpected<Error>(found.error());
  result.found = std::move(*found);
  return std::optional(std::move(result));
}

// Slow loads where a footprint's pages are all touched, but only one line in 32: then it isn't lines that don't fit.
Expected<double> slow_share(Rows& rows, double threshold_cycles, std::uint64_t bytes, std::uint64_t stride) {
  auto timed = rows.histograms({{bytes, 2}}, 2, stride);
  if (!timed) return tl::unexpected<Error>(timed.error());
  const Histogram both = merged(timed->front(), timed->back());
  return static_cast<double>(count_from(both, threshold_cycles)) /
         static_cast<double>(std::max<std::uint64_t>(1, total(both)));
}

Expected<bool> is_translation(Rows& rows, const Levels& levels, std::uint64_t bytes) {
  constexpr std::uint64_t sparse = 32;
  auto dense = slow_share(rows, levels.threshold_cycles, bytes, rows.stride());
  if (!dense) return tl::unexpected<Error>(dense.error());
  auto few = slow_share(rows, levels.threshold_cycles, bytes, sparse * rows.stride());
  if (!few) return tl::unexpected<Error>(few.error());
  return *few - levels.false_miss > 0.5 * (*dense - levels.false_miss);
}

Expected<Estimate> measure_l2_line(Session& session, CacheFacts l2, const Estimate& size) {
  constexpr std::uint64_t largest = 64 * mebi;  // more takes longer than a line is worth
  if (size.status != Status::measured) return inconclusive("B", "shifted_stride", "needs the size");
  if (*size.value > largest)
    return inconclusive("B", "shifted_stride", "the L2 is too large to overflow it at every stride");
  l2.warm_laps = warm_laps;
  return measure_line(session, l2, static_cast<std::uint64_t>(*size.value), Scope::gpu, most_loads);
}

}  // namespace

Expected<void> measure_l2_geometry(Session& session, Findings& findings) {
  CacheFacts* l2 = findings.cache("l2");
  if (l2 == nullptr || !l2->present) return {};
  Memory& memory = findings.memory("l2");
  Rows rows(session, l2->sector_bytes != 0 ? std::max<std::uint64_t>(32, l2->sector_bytes) : 32);
  auto whole = search(session, rows, l2->levels, small_bytes, limit_of(session));
  if (!whole) return tl::unexpected<Error>(whole.error());
  Estimate size = estimate_of(*whole, "memory_loads");
  Levels near_levels = l2->levels;
  Estimate near = size;
  const auto sides = memory.structure.find("l2_sides");
  if (sides != memory.structure.end() && sides->second.status == Status::inconclusive)
    size = inconclusive("B", "memory_loads", "far hits and loads of memory can't be told apart");
  if (size.status == Status::measured) {
    auto slower = levels_between(session, rows, l2->levels, static_cast<std::uint64_t>(*size.value));
    if (!slower) return tl::unexpected<Error>(slower.error());
    const bool inside =
        *slower && !findings.lines_have_sides && estimate_of((*slower)->found, "").status == Status::measured;
    if (inside) {
      near = estimate_of((*slower)->found, "slower_hits");
      const auto look_at = static_cast<std::uint64_t>((*near.value + *size.value) / 2) / unit_bytes * unit_bytes;
      auto translation = is_translation(rows, (*slower)->levels, look_at);
      if (!translation) return tl::unexpected<Error>(translation.error());
      if (*translation) {
        memory.attributes["translation_reach"] = near;
        near = size;
      } else if (findings.sides_keep_copies) {
        memory.attributes["partition_size"] = near;
        near_levels = (*slower)->levels;
      } else {
        size = near;
        size.note = fmt::format("what is behind it is a cache, too: memory answers from {:.1f} MiB on",
                                *estimate_of(*whole, "").value / mebi);
        near_levels = (*slower)->levels;
      }
    }
  }
  CacheFacts walked = *l2;
  walked.levels = near_levels;
  auto line = measure_l2_line(session, walked, near);
  if (!line) return tl::unexpected<Error>(line.error());
  memory.attributes["line_size"] = *line;
  if (line->has_value()) l2->line_bytes = static_cast<std::uint64_t>(*line->value);
  if (findings.lines_have_sides && size.status == Status::measured) {
    Estimate part = size;
    const double sides = *memory.attributes["partitions"].value;
    for (double* x : {&*part.value, &part.interval->low, &part.interval->high}) *x /= sides;
    memory.attributes["partition_size"] = part;
  }
  const auto api = static_cast<double>(session.info().l2_bytes);
  l2->capacity_bytes = size.has_value() ? static_cast<std::uint64_t>(*size.value) : session.info().l2_bytes;
  memory.attributes["size"] = size;
  if (api == 0) return {};
  memory.attributes["measured_size"] = size;
  memory.attributes["size"] = from_api(api, "B");
  l2->capacity_bytes = session.info().l2_bytes;
  if (size.status != Status::measured) return {};
  memory.attributes["size"].note = fmt::format("measured {:.1f} MiB, {:.0f} % from it", *size.value / mebi,
                                               100 * std::fabs(*size.value - api) / api);
  return {};
}

}  // namespace gputopo::experiments
