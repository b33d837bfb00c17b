// Size and line of the L2: all lanes of one SM warm a footprint, one thread samples it, a stretch of neighbouring lines
// at a time, so that no TLB has a part in it. Loads that no cache served tell what fits and what is held of more. What
// is slower than a hit before that is lines of another side, or of a cache behind this one.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "evidence/estimates.hpp"
#include "evidence/footprint.hpp"
#include "evidence/held.hpp"
#include "evidence/kept.hpp"
#include "evidence/line.hpp"
#include "evidence/modes.hpp"
#include "evidence/search.hpp"
#include "evidence/structure.hpp"
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
constexpr std::uint64_t sampled_loads = 1024;  // of a walk for the line
constexpr std::uint64_t stretch_lines = 64;    // one in 64 loads is the first of its page at most
constexpr std::uint64_t most_stretches = 8;
constexpr std::uint32_t warm_laps = 2;

class Rows {
 public:
  Rows(Session& session, std::uint64_t stride) : session_(session), stride_(stride) {}

  // Stretches looked at by one program: what it misses pushes out less than one line in 64.
  std::uint64_t stretches(std::uint64_t bytes) const {
    return std::clamp<std::uint64_t>(bytes / stride_ / 64 / stretch_lines, 1, most_stretches);
  }

  // Of `parts` programs that together look at stretches spread evenly over the footprint, the one of that number.
  program::Program program(std::uint64_t bytes, std::uint32_t patience, std::uint64_t part, std::uint64_t parts) const {
    program::Program p = make_program(fmt::format("l2 {} B", bytes), session_.info(), slot_flush);
    p.isolation = Scope::gpu;
    p.buffers[slot_flush].size_bytes = std::max(bytes, slot_bytes);
    const Walk warm = by_all_lanes(make_walk(l2_path, bytes, stride_, warm_laps * patience), session_.info());
    p.phases = {warm};
    const std::uint64_t stretch_bytes = std::min(bytes, stretch_lines * stride_);
    // The newest lines first: a cache that throws out the oldest has none of what comes behind its first miss.
    const std::uint64_t count = stretches(bytes);
    for (std::uint64_t i = count; i-- > 0;) {
      Walk sample = recorded(make_walk(l2_path, stretch_bytes, stride_, 1), Record::histogram, 1);
      const std::uint64_t room = (bytes - stretch_bytes) / stride_;
      sample.first_byte = room * (i * parts + part) / (count * parts) * stride_;
      p.phases.emplace_back(sample);
    }
    return p;
  }

  Expected<std::vector<Histogram>> histograms(const std::vector<RowRequest>& rows, std::size_t replicates) {
    program::Batch batch;
    for (const RowRequest& row : rows)
      for (std::size_t i = 0; i < replicates; ++i)
        batch.push_back(program(row.footprint_bytes, row.patience, i, replicates));
    auto traces = session_.run(batch);
    if (!traces) return tl::unexpected<Error>(traces.error());
    std::vector<Histogram> all;
    for (const auto& trace : *traces) all.push_back(recorded_histogram(trace));
    return all;
  }

  // Counts loads that took `threshold_cycles` or longer.
  CountRows counter(double threshold_cycles) {
    return [this, threshold_cycles](const std::vector<RowRequest>& rows, std::size_t replicates) -> Expected<Counts> {
      auto all = histograms(rows, replicates);
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

// What is held of a half more than about fits, and of twice that: the share of lines that are near. A cache that throws
// out the oldest holds all of the last ones and none of the first, so stretches are spread evenly: what they tell is
// known to one of their distances, and as a share is.
Expected<Held> held_of(Session& session, Rows& rows, const Levels& levels, std::uint64_t about_bytes) {
  constexpr std::uint64_t most_warm_loads = 12'000'000;
  Held held;
  double before = 0, before_error = 0;
  for (const std::uint64_t quarters : {6U, 8U, 12U}) {
    const std::uint64_t bytes = about_bytes * quarters / 4 / unit_bytes * unit_bytes;
    if (bytes > session.info().largest_buffer_bytes / 2) break;
    const std::uint64_t warm_loads = bytes / rows.stride() * warm_laps;
    const auto parts = std::clamp<std::uint64_t>(most_warm_loads / warm_loads, 24, 512 / rows.stretches(bytes));
    // What a program's first looks may have pushed out before its last.
    const double pushed_out = static_cast<double>(rows.stretches(bytes) * stretch_lines * rows.stride()) /
                              static_cast<double>(2 * about_bytes);
    auto timed = rows.histograms({{bytes, 1}}, parts);
    if (!timed) return tl::unexpected<Error>(timed.error());
    double loads = 0, near = 0;
    for (const Histogram& h : *timed) {
      loads += static_cast<double>(total(h));
      near += static_cast<double>(total(h) - count_from(h, levels.threshold_cycles));
    }
    const double share = std::clamp((near / loads - levels.false_hit) / levels.told_apart(), 0.0, 1.0);
    const double error = 0.5 / static_cast<double>(parts * rows.stretches(bytes)) + pushed_out * share +
                         1.96 * std::sqrt(share * (1 - share) / loads + 1e-9) / levels.told_apart();
    const auto whole = static_cast<double>(bytes);
    held.samples += static_cast<std::uint64_t>(loads);
    held.bytes = whole * share;
    held.interval = {whole * (share - error), whole * (share + error)};
    held.steady = before != 0 && std::fabs(held.bytes - before) <= whole * error + before_error;
    if (held.steady) break;
    before = held.bytes;
    before_error = whole * error;
  }
  return held;
}

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

// What fits, and what is held of more.
Expected<Estimate> size_by(Session& session, Rows& rows, const Levels& levels, std::uint64_t limit_bytes,
                           std::string_view method) {
  auto found = search(session, rows, levels, small_bytes, limit_bytes);
  if (!found) return tl::unexpected<Error>(found.error());
  const Estimate fits = estimate_of(*found, method);
  if (fits.status != Status::measured && fits.status != Status::inconclusive) return fits;
  const auto about = static_cast<std::uint64_t>(found->posterior.footprints_bytes[found->posterior.best()]);
  auto held = held_of(session, rows, levels, about);
  if (!held && held.error().kind != Error::Kind::unavailable) return tl::unexpected<Error>(held.error());
  if (!held) return fits;
  const std::uint64_t resolution = std::max(unit_bytes, about / 32);
  return capacity_of(fits, *held, static_cast<double>(resolution));
}

// The levels of what is slower than a hit at footprints that hold nothing of memory yet; nothing where all of them hit
// alike.
Expected<std::optional<Levels>> levels_between(Rows& rows, const Levels& l2, std::uint64_t whole_bytes) {
  constexpr double a_share_of_loads = 0.25;  // half of what the smallest of two sides leaves out of a full one
  auto timed = rows.histograms({{small_bytes, 16}, {whole_bytes * 15 / 16 / unit_bytes * unit_bytes, 1}}, 2);
  if (!timed) return tl::unexpected<Error>(timed.error());
  const Histogram small = merged((*timed)[0], (*timed)[1]);
  const Histogram large = between(merged((*timed)[2], (*timed)[3]), 0, l2.threshold_cycles);
  Levels levels = levels_of(small, large);
  if (levels.told_apart() < a_share_of_loads || levels.doubt > 1e-6) return std::optional<Levels>();
  // The large footprint is a mixture of hits and what is slower: what misses is slower for sure.
  levels.false_hit = l2.false_hit;
  return std::optional(std::move(levels));
}

// What an SM finds near: the whole L2, with a cache behind it, or one of its sides. The driver knows the L2 as a whole.
enum class Part { whole, side, unknown };

Part part_of(const Findings& findings, const Estimate& near) {
  constexpr double alike = 0.15;  // sides are halves at most
  if (!findings.beyond_own_l2) return Part::whole;
  const Estimate* api = findings.topology.find("l2") == nullptr ? nullptr : findings.topology.find("l2")->find("size");
  if (!near.has_value() || api == nullptr || api->status != Status::api) return Part::unknown;
  const double parts = *api->value / *near.value, sets = static_cast<double>(findings.beyond_own_l2->sets);
  if (std::fabs(parts - sets) < alike * sets) return Part::side;
  return std::fabs(parts - 1) < alike ? Part::whole : Part::unknown;
}

Expected<Estimate> measure_l2_line(Session& session, CacheFacts l2, const Estimate& size) {
  constexpr std::uint64_t largest = 64 * mebi;  // more takes longer than a line is worth
  if (size.status != Status::measured) return inconclusive("B", "shifted_stride", "needs the size");
  if (*size.value > largest)
    return inconclusive("B", "shifted_stride", "the L2 is too large to overflow it at every stride");
  l2.warm_laps = warm_laps;
  return measure_line(session, l2, static_cast<std::uint64_t>(*size.value), Scope::gpu, sampled_loads);
}

}  // namespace

Expected<void> measure_l2_geometry(Session& session, Findings& findings) {
  CacheFacts* l2 = findings.cache("l2");
  if (l2 == nullptr || !l2->present) return {};
  Memory& memory = findings.memory("l2");
  const auto api = static_cast<double>(session.info().l2_bytes);
  if (api != 0) memory.attributes["size"] = from_api(api, "B");
  Rows rows(session, l2->sector_bytes != 0 ? std::max<std::uint64_t>(32, l2->sector_bytes) : 32);
  const auto statement = memory.structure.find("l2_sides");
  const bool sides_open = statement != memory.structure.end() && statement->second.status == Status::inconclusive;
  auto whole = sides_open && !findings.beyond_own_l2
                   ? inconclusive("B", "memory_loads", "far hits and loads of memory can't be told apart")
                   : size_by(session, rows, l2->levels, limit_of(session), "memory_loads");
  if (!whole) return tl::unexpected<Error>(whole.error());
  Estimate size = *whole;
  Levels near_levels = l2->levels;
  Estimate near = size;
  if (size.has_value() && !findings.lines_have_sides) {
    auto slower = levels_between(rows, l2->levels, static_cast<std::uint64_t>(*size.value));
    if (!slower) return tl::unexpected<Error>(slower.error());
    if (*slower) {
      auto inside = size_by(session, rows, **slower, static_cast<std::uint64_t>(*size.value) * 2, "slower_hits");
      if (!inside) return tl::unexpected<Error>(inside.error());
      near = *inside;
      near_levels = **slower;
      const Part part = part_of(findings, near);
      if (part == Part::side) {
        findings.state_sides_by_sets();
        memory.attributes["partition_size"] = near;
      } else if (part == Part::whole && near.has_value()) {
        near.note =
            fmt::format("what is behind it is a cache, too: memory answers from {:.1f} MiB on", *size.value / mebi);
        size = near;
        l2->next_level = whole_mode(between(near_levels.next, near_levels.threshold_cycles, 1e9));
        memory.structure["l2_sides"] = decided("1", "slower_hits", 0.99, near.samples);
      } else {
        size = inconclusive("B", "slower_hits", "what is slower than a hit is another side of it or a cache behind");
      }
    }
  }
  CacheFacts about = *l2;
  about.levels = near_levels;
  about.sector_bytes = rows.stride();
  const std::uint64_t kept = near.has_value() ? static_cast<std::uint64_t>(*near.value) : small_bytes;
  auto alone = is_left_alone(session, about, kept, Scope::gpu);
  if (!alone && alone.error().kind != Error::Kind::unavailable) return tl::unexpected<Error>(alone.error());
  findings.others_fill_l2 = alone && !*alone;
  if (findings.others_fill_l2)
    for (Estimate* e : {&size, &near})
      if (e->status == Status::measured) bound_below(*e, "another program fills the L2 while it is measured");
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
