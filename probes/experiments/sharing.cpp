#include "experiments/sharing.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "experiments/estimates.hpp"
#include "experiments/samples.hpp"

namespace gputopo::experiments {
namespace {

using program::Record;
using program::Walk;

constexpr std::uint64_t probe_stride = 32;  // at most a sector of any cache there has been

// One load a line: more would hit what the first one brought in, and dilute the misses.
std::uint64_t stride_of(const Sharer& s) {
  const Estimate* line = s.cache->memory.find("line_size");
  return line != nullptr && line->has_value() ? static_cast<std::uint64_t>(*line->value) : probe_stride;
}

// Buffers of their own even where both paths would use the same slot: data of one must not serve the other.
Walk walk_of(const Sharer& s, std::uint64_t bytes, bool second) {
  Walk walk = make_walk(s.path, bytes, stride_of(s), 2);
  if (second && s.path.slot != slot_constant) walk.buffer = slot_flush;
  return walk;
}

// Share of `kept`'s loads that miss after `evictor` has walked.
Expected<double> evicted_share(Session& session, const Sharer& kept, const Sharer& evictor) {
  program::Program p = make_program(fmt::format("{} against {}", kept.path.id, evictor.path.id), session.info(),
                                    std::max({kept.path.slot, evictor.path.slot, slot_flush}));
  const Walk first = walk_of(kept, kept.cache->capacity_bytes * 2 / 3, false);
  p.phases = {first, walk_of(evictor, evictor.cache->capacity_bytes * 2 / 3, true),
              recorded(first, Record::histogram, 1)};
  auto traces = session.run({p});
  if (!traces) return tl::unexpected<Error>(traces.error());
  const auto& histogram = traces->front().phases.back().histogram;
  return static_cast<double>(count_from(histogram, kept.cache->threshold_cycles)) /
         static_cast<double>(std::max<std::uint64_t>(1, total(histogram)));
}

}  // namespace

Expected<Sharing> test_sharing(Session& session, const Sharer& a, const Sharer& b) {
  // Random replacement throws out a quarter of the first walk at four thirds of the capacity; noise a few loads.
  constexpr double evicted_from = 0.15;
  constexpr double kept_below = 0.05;
  const auto verdict = [&](double share) {
    return share >= evicted_from ? Sharing::same : share < kept_below ? Sharing::apart : Sharing::undecided;
  };
  const auto similar = [](std::uint64_t x, std::uint64_t y) { return 4 * x >= 3 * y && 4 * y >= 3 * x; };
  const bool a_smaller = a.cache->capacity_bytes <= b.cache->capacity_bytes;
  const Sharer& small = a_smaller ? a : b;
  const Sharer& large = a_smaller ? b : a;
  auto forth = evicted_share(session, small, large);
  if (!forth) return tl::unexpected<Error>(forth.error());
  if (!similar(a.cache->capacity_bytes, b.cache->capacity_bytes)) return verdict(*forth);
  auto back = evicted_share(session, large, small);
  if (!back) return tl::unexpected<Error>(back.error());
  return verdict(*forth) == verdict(*back) ? verdict(*forth) : Sharing::undecided;
}

Expected<std::optional<Estimate>> measure_displacement(Session& session, const Sharer& global, const Sharer& other,
                                                       std::uint64_t line_bytes) {
  constexpr std::array<std::uint64_t, 3> quarters{1, 2, 3};
  constexpr std::size_t replicates = 4;  // disturbances only ever hide lines that are left
  program::Batch batch;
  std::vector<std::uint64_t> walked;
  const std::uint64_t fill_bytes = (global.cache->capacity_bytes * 3 / 2 / 4096 + 1) * 4096;
  for (const std::uint64_t q : quarters) {
    const std::uint64_t bytes = other.cache->capacity_bytes * q / 4 / line_bytes * line_bytes;
    program::Program p = make_program(fmt::format("{} displacement", other.path.id), session.info(), slot_flush);
    const Walk fill = make_walk(global.path, fill_bytes, probe_stride, 1);
    Walk probe = recorded(fill, Record::histogram, 1);
    probe.path = program::Path::global_no_allocate;
    p.phases = {fill, make_walk(other.path, bytes, line_bytes, 1), probe};
    walked.push_back(bytes);
    batch.insert(batch.end(), replicates, p);
  }
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  std::vector<std::uint64_t> sums;
  std::uint64_t samples = 0;
  for (std::size_t i = 0; i < walked.size(); ++i) {
    std::uint64_t left = 0;
    for (std::size_t j = i * replicates; j < (i + 1) * replicates; ++j) {
      const auto& histogram = (*traces)[j].phases.back().histogram;
      left = std::max(left, total(histogram) - count_from(histogram, global.cache->threshold_cycles));
      samples += total(histogram);
    }
    sums.push_back(left * probe_stride + walked[i]);
  }
  const auto [low, high] = std::minmax_element(sums.begin(), sums.end());
  if (*low != *high) return std::optional<Estimate>();
  Estimate e = measured(static_cast<double>(*high), "B", "displacement", samples);
  e.interval = Interval{*e.value, *e.value};
  e.confidence = 0.99;
  return std::optional(e);
}

}  // namespace gputopo::experiments
