// What the loads of one path take: a hit, and a load that only the level behind can serve. From pairs of loads of one
// sector: the first finds it behind the cache, the second, right after it, in the cache if there is one.
#include <fmt/format.h>

#include "evidence/cold.hpp"
#include "evidence/estimates.hpp"
#include "evidence/latency.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;

constexpr std::uint64_t pairs = 48;
constexpr std::uint64_t pairs_of_constants = 16;  // 2 KiB: a small cache behind the L1 holds them and what evicts them
constexpr std::uint64_t apart_bytes =
    1152;  // nine lines of 128 B: no pair finds what a neighbour fetched, sets take turns
constexpr std::uint64_t apart_constants = 128;  // a line of a constant L1 at most, since banks are small
constexpr std::size_t repetitions = 4;

// Levels of memory less than this apart are beyond what is told here (docs/domain.md).
constexpr double least_ratio = 1.05;

struct Pairs {
  Histogram first, second;
};

Expected<Pairs> time_pairs(Session& session, const CachePath& path, std::uint64_t eviction_bytes) {
  const bool constants = path.slot == slot_constant;
  const std::uint64_t apart = constants ? apart_constants : apart_bytes;
  const std::uint64_t bytes = apart * (constants ? pairs_of_constants : pairs);
  auto traces = session.run_in_order([&] {
    program::Batch batch;
    for (std::size_t i = 0; i < repetitions; ++i) {
      Cold cold = cold_region(session, path, bytes, eviction_bytes, fmt::format("{} pairs", path.id));
      for (std::uint64_t at = 0; at + apart <= cold.bytes; at += apart) {
        program::Walk pair = recorded(make_walk(path, 8, 4, 1), program::Record::latencies, 1);
        pair.first_byte = cold.first_byte + at;
        cold.program.phases.emplace_back(pair);
      }
      batch.push_back(std::move(cold.program));
    }
    return std::vector<program::Batch>{batch};
  });
  if (!traces) return tl::unexpected<Error>(traces.error());
  Pairs result;
  for (const auto& trace : *traces) {
    bool skipped = false;  // the first recorded phase fetches the code of all others
    for (const auto& phase : trace.phases) {
      if (phase.latencies.size() < 2) continue;
      if (skipped) {
        result.first = merged(result.first, Histogram{{phase.latencies[0], 1}});
        result.second = merged(result.second, Histogram{{phase.latencies[1], 1}});
      }
      skipped = true;
    }
  }
  return result;
}

bool exists(const device::DeviceInfo& info, const CachePath& path, std::string& why) {
  if (path.slot == slot_constant && info.constant_modules == 0) why = "this GPU has no constant memory";
  if (path.slot == slot_texture && info.texture_elements == 0) why = "this GPU has no linear textures";
  if (path.path == program::Path::read_only && !info.has_read_only) why = "read-only loads need compute capability 3.5";
  return why.empty();
}

}  // namespace

Expected<void> measure_levels(Session& session, Findings& findings, const CachePath& path) {
  Memory& memory = findings.memory(path.id);
  CacheFacts& cache = findings.caches[std::string(path.id)];
  cache.path = path;
  std::string why;
  if (!exists(session.info(), path, why)) {
    set_absent(memory, why);
    return {};
  }
  auto load = measure_load_latency(session, path);
  if (!load) return tl::unexpected<Error>(load.error());
  if (!load->estimate.has_value())
    return fail(Error::Kind::device, fmt::format("no laps of {} loads were timed; try again", path.id));
  cache.overhead_cycles = load->overhead_cycles;
  cache.latency_cycles = *load->estimate.value;
  Histogram repeated;
  std::vector<Histogram> graded;
  for (const std::uint64_t bytes : evictions(session.info(), path)) {
    auto timed = time_pairs(session, path, bytes);
    if (!timed) return tl::unexpected<Error>(timed.error());
    graded.push_back(timed->first);
    repeated = merged(repeated, timed->second);
  }
  const Histogram& behind_most = graded.back();
  const Levels of_pairs = levels_of(repeated, behind_most);
  const double first = quantile(behind_most, 0.5).value_or(0) - cache.overhead_cycles;
  const double second = quantile(repeated, 0.5).value_or(0) - cache.overhead_cycles;
  if (!of_pairs.usable()) {
    const bool alike = second > 0 && first < least_ratio * second;
    if (alike)
      set_absent(memory,
                 "a load repeated at once takes as long as the first: nothing in front of the level behind keeps it");
    else
      set_open(memory, "levels", "hits and misses of these loads can't be told apart by their latency");
    return {};
  }
  cache.present = true;
  cache.levels = graded_levels(merged(repeated, load->timed), graded);
  memory.attributes["latency"] = load->estimate;
  return {};
}

}  // namespace gputopo::experiments
