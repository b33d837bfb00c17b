#include "evidence/kept.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace gputopo::evidence {
namespace {

constexpr std::uint64_t shortly = 16;
constexpr std::uint64_t long_loads = 20000;  // of shared memory: about 0.3 ms, a part of what a neighbour's turn leaves
constexpr std::size_t repetitions = 3;
constexpr std::uint64_t most_looks = 512;

// The time is spent in shared memory, which no cache sees.
program::Program idle_program(const Session& session, const CacheFacts& cache, std::uint64_t bytes, Scope isolation,
                              std::uint64_t idle_loads) {
  program::Program p =
      make_program(fmt::format("{} left alone for {} loads", cache.path.id, idle_loads), session.info(), cache.path.slot);
  p.isolation = isolation;
  p.buffers[cache.path.slot].size_bytes = std::max(p.buffers[cache.path.slot].size_bytes, bytes);
  p.buffers.push_back({program::Space::shared, 64, 0});
  const program::Walk fill = make_walk(cache.path, bytes, cache.stride(), 3);
  program::Walk idle;
  idle.buffer = static_cast<std::uint32_t>(p.buffers.size() - 1);
  idle.path = program::Path::shared;
  idle.footprint_bytes = 64;
  idle.stride_bytes = 4;
  idle.loads_per_lap = idle_loads;
  program::Walk look = recorded(fill, program::Record::histogram, 1);
  if (program::lap_loads(look) > most_looks) {
    look.order = program::Order::shuffled;
    look.loads_per_lap = most_looks;
  }
  p.phases = {cache.path.slot == slot_constant ? fill : by_all_lanes(fill, session.info()), idle, look};
  return p;
}

}  // namespace

Expected<bool> is_left_alone(Session& session, const CacheFacts& cache, std::uint64_t capacity_bytes, Scope isolation) {
  if (session.info().shared_bytes_per_block == 0) return true;
  const std::uint64_t bytes = std::max(cache.stride(), capacity_bytes * 3 / 4 / cache.stride() * cache.stride());
  program::Batch batch(repetitions, idle_program(session, cache, bytes, isolation, shortly));
  batch.insert(batch.end(), repetitions, idle_program(session, cache, bytes, isolation, long_loads));
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  double lost[2] = {0, 0}, looked[2] = {0, 0};
  for (std::size_t i = 0; i < traces->size(); ++i) {
    const auto& timed = (*traces)[i].phases.back().histogram;
    lost[i / repetitions] += static_cast<double>(count_from(timed, cache.levels.threshold_cycles));
    looked[i / repetitions] += static_cast<double>(total(timed));
  }
  // Two shares differ by chance by five standard errors once in millions; fewer than three lines say nothing.
  const double pooled = (lost[0] + lost[1] + 1) / (looked[0] + looked[1] + 2);
  const double error = std::sqrt(pooled * (1 - pooled) * (1 / looked[0] + 1 / looked[1]));
  const double more = lost[1] / looked[1] - lost[0] / looked[0];
  return more * looked[1] < 3 * repetitions || more < 5 * error;
}

}  // namespace gputopo::evidence
