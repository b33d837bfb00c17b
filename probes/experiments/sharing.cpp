#include "experiments/sharing.hpp"

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

struct Evicted {
  double share = 0;
  std::uint64_t samples = 0;
};

// Of `kept`'s loads those that miss after `evictor` has walked.
Expected<Evicted> evicted(Session& session, const Sharer& kept, const Sharer& evictor) {
  program::Program p = make_program(fmt::format("{} against {}", kept.path.id, evictor.path.id), session.info(),
                                    std::max({kept.path.slot, evictor.path.slot, slot_flush}));
  const Walk first = walk_of(kept, kept.cache->capacity_bytes * 2 / 3, false);
  p.phases = {first, walk_of(evictor, evictor.cache->capacity_bytes * 2 / 3, true),
              recorded(first, Record::histogram, 1)};
  auto traces = session.run({p});
  if (!traces) return tl::unexpected<Error>(traces.error());
  const auto& histogram = traces->front().phases.back().histogram;
  return Evicted{static_cast<double>(count_from(histogram, kept.cache->threshold_cycles)) /
                     static_cast<double>(std::max<std::uint64_t>(1, total(histogram))),
                 total(histogram)};
}

// Random replacement throws out a quarter of the first walk at four thirds of the capacity; noise a few loads.
std::string verdict_of(double share) {
  constexpr double evicted_from = 0.15;
  constexpr double kept_below = 0.05;
  return share >= evicted_from ? "same" : share < kept_below ? "apart" : "undecided";
}

}  // namespace

Expected<SharingTest> test_eviction(Session& session, const Sharer& a, const Sharer& b) {
  const auto similar = [](std::uint64_t x, std::uint64_t y) { return 4 * x >= 3 * y && 4 * y >= 3 * x; };
  const bool a_smaller = a.cache->capacity_bytes <= b.cache->capacity_bytes;
  const Sharer& small = a_smaller ? a : b;
  const Sharer& large = a_smaller ? b : a;
  const auto forth = evicted(session, small, large);
  if (!forth) return tl::unexpected<Error>(forth.error());
  SharingTest test{"eviction", verdict_of(forth->share), forth->share, forth->samples};
  if (!similar(a.cache->capacity_bytes, b.cache->capacity_bytes)) return test;
  const auto back = evicted(session, large, small);
  if (!back) return tl::unexpected<Error>(back.error());
  if (verdict_of(back->share) != test.verdict) test.verdict = "undecided";
  test.lost_share = std::min(test.lost_share, back->share);
  test.samples += back->samples;
  return test;
}

Expected<SharingTest> test_code_eviction(Session& session, const ConstantL15& cache, std::uint64_t capacity_bytes) {
  const device::DeviceInfo& info = session.info();
  const std::uint64_t bytes = std::min(info.constant_bytes_per_module, capacity_bytes) / 2;
  program::Batch batch;
  for (const bool with_code : {false, true}) {
    program::Program p = make_program("constant_l1_5 against code", info, slot_constant);
    p.isolation = Scope::gpu;
    const Walk walk = make_walk(constant_l1_5_path, bytes, cache.line_bytes, cache.settling_laps);
    p.phases = {walk};
    program::Execute code;
    code.code_bytes = info.execute_limit_bytes;
    code.laps = 2;
    if (with_code) p.phases.emplace_back(code);
    p.phases.emplace_back(recorded(walk, Record::histogram, 1));
    batch.push_back(std::move(p));
  }
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  std::array<double, 2> share{};
  for (std::size_t i : {0, 1}) {
    const auto& histogram = (*traces)[i].phases.back().histogram;
    share.at(i) = static_cast<double>(count_from(histogram, cache.threshold_cycles)) /
                  static_cast<double>(std::max<std::uint64_t>(1, total(histogram)));
  }
  SharingTest test{"eviction", verdict_of(share[1]), share[1], traces->back().phases.back().loads};
  if (verdict_of(share[0]) != "apart") test.verdict = "undecided";  // gone without any code
  return test;
}

std::string verdict_of(std::span<const SharingTest> tests) {
  if (tests.empty()) return "inconclusive";
  const bool agree = std::all_of(tests.begin(), tests.end(), [&](const SharingTest& t) {
    return t.verdict == tests.front().verdict && t.verdict != "undecided";
  });
  return agree ? tests.front().verdict : "inconclusive";
}

}  // namespace gputopo::experiments
