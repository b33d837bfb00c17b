#include "evidence/looks/kept.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace gputopo::evidence {
namespace {

constexpr double shortly_cycles = 500;
constexpr double long_cycles = 500'000;  // about 0.3 ms, a part of what a neighbour's turn leaves
constexpr double laps_as_long = 4;  // and at least: what others bring in while a lap goes round, several times over
// All SMs walk twice what an L2 holds in about two cycles a line: who would take 1 % of it meanwhile takes the quarter
// that is left free, and as much again, in so many.
constexpr double cycles_a_line = 100;
constexpr std::size_t kept_repetitions = 3;
constexpr std::uint64_t kept_fewest_looks = 128;  // shares of so many that are lost by half and not at all differ
constexpr std::uint64_t kept_most_looks = 512;
// Of three quarters of what it holds no cache loses so much by its sets: with so many lines hardly by chance, either.
constexpr double nearly_all_of_a_program = 0.8, fewest_of_a_program = 8;

// The time is spent in shared memory, which no cache sees, or else on one of the lines, which stays the newest.
program::Program idle_program(const Session& session, const CacheFacts& cache, std::uint64_t bytes, Scope isolation,
                              double idle_cycles) {
  program::Program p = make_program(fmt::format("{} left alone for {:.0f} cycles", cache.path.id, idle_cycles),
                                    session.info(), cache.path.slot);
  p.isolation = isolation;
  p.buffers[cache.path.slot].size_bytes = std::max(p.buffers[cache.path.slot].size_bytes, bytes);
  const program::Walk fill = make_walk(cache.path, bytes, cache.stride(), 3);
  program::Walk idle = make_walk(cache.path, 4, 4, 1);
  double load_cycles = std::max(1.0, cache.latency_cycles);
  if (session.info().shared_bytes_per_block != 0) {
    constexpr std::uint64_t bytes_of_shared = 64;
    constexpr double least_cycles = 25;  // of a load of shared memory
    idle.buffer = static_cast<std::uint32_t>(p.buffers.size());
    p.buffers.push_back({program::Space::shared, bytes_of_shared, 0});
    idle.path = program::Path::shared;
    idle.footprint_bytes = bytes_of_shared;
    load_cycles = least_cycles;
  }
  idle.loads_per_lap = static_cast<std::uint64_t>(idle_cycles / load_cycles) + 1;
  program::Walk look = recorded(fill, program::Record::histogram, 1);
  if (program::lap_loads(look) > kept_most_looks) {
    look.loads_per_lap = kept_most_looks;
    if (isolation == Scope::sm) {
      look.order = program::Order::shuffled;
    } else {
      // Beyond the SM loads need translations, which a line brings in for those behind it.
      look.first_byte = bytes / 2 / cache.stride() * cache.stride();
      look.footprint_bytes -= look.first_byte;
    }
  }
  p.phases = {cache.path.slot == slot_constant ? fill : by_all_lanes(fill, session.info()), idle, look};
  return p;
}

}  // namespace

Expected<bool> is_left_alone(Session& session, const CacheFacts& cache, std::uint64_t capacity_bytes, Scope isolation) {
  const std::uint64_t bytes = std::max(cache.stride(), capacity_bytes * 3 / 4 / cache.stride() * cache.stride());
  const std::uint64_t lines = bytes / cache.stride();
  const std::size_t repetitions = std::max(kept_repetitions, (kept_fewest_looks + lines - 1) / lines);
  program::Batch batch(repetitions, idle_program(session, cache, bytes, isolation, shortly_cycles));
  // One thread walks all of an SM's cache, all SMs what lies behind: of that little is lost in a lap, and nobody but
  // who runs at the same time takes it.
  const double lap = isolation == Scope::sm ? static_cast<double>(lines) * cache.latency_cycles : 0;
  const bool may_lose_slowly = isolation != Scope::sm && session.info().may_run_beside_others;
  const double beside = may_lose_slowly ? cycles_a_line * static_cast<double>(lines) : 0;
  const auto idle_for = [&](double cycles) {
    program::Batch looks = batch;
    looks.insert(looks.end(), repetitions, idle_program(session, cache, bytes, isolation, cycles));
    return session.run(looks);
  };
  const double usual = std::max(long_cycles, laps_as_long * lap), longest = std::max(usual, beside);
  // Who takes turns on the GPU, at a slow clock, may leave time for a part of that alone, which tells less.
  auto traces = idle_for(longest);
  for (const double part : {1.0, 0.25, 0.0625})
    if (!traces && traces.error().kind == Error::Kind::unavailable && part * usual < longest)
      traces = idle_for(part * usual);
  if (!traces) return tl::unexpected<Error>(traces.error());
  double lost[2] = {0, 0}, looked[2] = {0, 0};
  Histogram looks[2];
  for (std::size_t i = 0; i < traces->size(); ++i) {
    const auto& timed = (*traces)[i].phases.back().histogram;
    const auto lost_here = static_cast<double>(count_from(timed, cache.levels.threshold_cycles));
    const auto looked_here = static_cast<double>(total(timed));
    // Others may be on some SMs alone: what one program lost others didn't.
    if (looked_here >= fewest_of_a_program && lost_here > nearly_all_of_a_program * looked_here) return false;
    looks[i / repetitions] = merged(looks[i / repetitions], timed);
    lost[i / repetitions] += lost_here;
    looked[i / repetitions] += looked_here;
  }
  // What a cache behind it still has may be as near as what counts as a hit.
  if (are_slower(looks[0], looks[1])) return false;
  // Two shares differ by chance by five standard errors once in millions; fewer than nine looks, three lines' at the
  // least, say nothing.
  const double pooled = (lost[0] + lost[1] + 1) / (looked[0] + looked[1] + 2);
  const double error = std::sqrt(pooled * (1 - pooled) * (1 / looked[0] + 1 / looked[1]));
  const double more = lost[1] / looked[1] - lost[0] / looked[0];
  // Of three quarters of what it holds most stay, even in sets of one way that a hash fills: where they don't, others
  // take their places sooner than any look comes.
  constexpr double most = 0.5;
  if (std::min(lost[0] / looked[0], lost[1] / looked[1]) > most + 5 * error) return false;
  return more * looked[1] < 3 * kept_repetitions || more < 5 * error;
}

}  // namespace gputopo::evidence
