#include "experiments/displacement.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "experiments/estimates.hpp"
#include "experiments/samples.hpp"

namespace gputopo::experiments {
namespace {

using program::Record;
using program::Walk;

constexpr std::uint64_t probe_stride = 32;  // at most a sector of any cache there has been
constexpr std::size_t replicates = 4;       // disturbances only ever hide lines that are left

// More than fits through `global`, then `bytes` through `other`; the recorded phase looks for the first ones.
program::Program displacement_program(const Session& session, const Sharer& global, const Sharer& other,
                                      std::uint64_t bytes, std::uint64_t line_bytes) {
  const std::uint64_t fill_bytes = (global.cache->capacity_bytes * 3 / 2 / 4096 + 1) * 4096;
  program::Program p = make_program(fmt::format("{} displaced by {} B of {}", global.path.id, bytes, other.path.id),
                                    session.info(), std::max(other.path.slot, slot_flush));
  const Walk fill = make_walk(global.path, fill_bytes, probe_stride, 1);
  Walk probe = recorded(fill, Record::histogram, 1);
  probe.path = program::Path::global_no_allocate;
  p.phases = {fill};
  if (bytes != 0) {
    Walk walk = make_walk(other.path, bytes, line_bytes, 1);
    if (other.path.slot == global.path.slot) walk.buffer = slot_flush;
    p.phases.emplace_back(walk);
  }
  p.phases.emplace_back(probe);
  return p;
}

struct Left {
  std::vector<std::uint64_t> bytes;  // still there, for each footprint
  std::uint64_t samples = 0;
};

Expected<Left> left_after(Session& session, const Sharer& global, const Sharer& other,
                          const std::vector<std::uint64_t>& footprints, std::uint64_t line_bytes) {
  program::Batch batch;
  for (const std::uint64_t bytes : footprints)
    batch.insert(batch.end(), replicates, displacement_program(session, global, other, bytes, line_bytes));
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  Left result;
  for (std::size_t i = 0; i < footprints.size(); ++i) {
    std::uint64_t most = 0;
    for (std::size_t j = i * replicates; j < (i + 1) * replicates; ++j) {
      const auto& histogram = (*traces)[j].phases.back().histogram;
      most = std::max(most, total(histogram) - count_from(histogram, global.cache->threshold_cycles));
      result.samples += total(histogram);
    }
    result.bytes.push_back(most * probe_stride);
  }
  return result;
}

}  // namespace

Expected<std::optional<Estimate>> measure_displacement(Session& session, const Sharer& global, const Sharer& other,
                                                       std::uint64_t line_bytes) {
  std::vector<std::uint64_t> walked;
  for (const std::uint64_t quarters : {1, 2, 3})
    walked.push_back(other.cache->capacity_bytes * quarters / 4 / line_bytes * line_bytes);
  const auto left = left_after(session, global, other, walked, line_bytes);
  if (!left) return tl::unexpected<Error>(left.error());
  std::vector<std::uint64_t> sums;
  for (std::size_t i = 0; i < walked.size(); ++i) sums.push_back(left->bytes[i] + walked[i]);
  const auto [low, high] = std::minmax_element(sums.begin(), sums.end());
  if (*low != *high) return std::optional<Estimate>();
  Estimate e = measured(static_cast<double>(*high), "B", "displacement", left->samples);
  e.interval = Interval{*e.value, *e.value};
  e.confidence = 0.99;
  return std::optional(e);
}

Expected<SharingTest> test_residency(Session& session, const Sharer& global, const Sharer& other,
                                     std::uint64_t line_bytes) {
  constexpr double same_from = 0.5;  // random replacement lets a fifth of what was walked displace itself
  constexpr double apart_below = 0.05;
  std::uint64_t bytes = global.cache->capacity_bytes / 2 / line_bytes * line_bytes;
  if (other.path.slot == slot_constant) bytes = std::min(bytes, session.info().constant_bytes_per_module);
  const auto left = left_after(session, global, other, {0, bytes}, line_bytes);
  if (!left) return tl::unexpected<Error>(left.error());
  const auto gone = static_cast<double>(left->bytes[0]) - static_cast<double>(left->bytes[1]);
  SharingTest test{"residency", "undecided", 0, left->samples};
  if (left->bytes[0] == 0 || bytes == 0) return test;
  test.lost_share = std::clamp(gone / static_cast<double>(bytes), 0.0, 1.0);
  if (test.lost_share >= same_from) test.verdict = "same";
  if (test.lost_share < apart_below) test.verdict = "apart";
  return test;
}

}  // namespace gputopo::experiments
