// What the loads of one path take: a hit, and a load that only the level behind can serve. Global memory: pairs of
// loads of one sector, of which the first finds it behind the cache and the second, right after it, in the cache if
// there is one. Constants, which can't be brought anywhere but through their caches: footprints from a few lines to all
// there are, each a little larger than the one before, so that every level serves some of them.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "evidence/held/held.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/inference/hidden_level.hpp"
#include "evidence/inference/modes.hpp"
#include "evidence/looks/cold.hpp"
#include "evidence/looks/footprint.hpp"
#include "evidence/looks/latency.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;

constexpr std::uint64_t pairs = 48;
constexpr LinesApart pairs_apart = in_a_small_page;
constexpr std::uint64_t longest_line_of_constants = 128;
constexpr std::uint64_t shortest_line_of_constants = 32;
constexpr std::uint64_t few_constants = 256;
constexpr std::size_t levels_repetitions = 4;
constexpr int times_beside_others = 16;  // as often

struct Samples {
  Histogram hits;                 // if anything near keeps what was loaded
  std::vector<Histogram> graded;  // ever further from the nearest level, the last one surely not served by it
  std::vector<LoadPair> pairs;    // of global memory: by line
};

// Those alone whose translation the pair before them brought: else first loads take longer though no cache keeps any.
Expected<Samples> time_pairs(Session& session, const CachePath& path) {
  std::vector<std::uint64_t> first_bytes;
  auto traces = session.run_in_order([&] {
    first_bytes.clear();
    program::Batch batch;
    for (std::size_t i = 0; i < levels_repetitions; ++i) {
      const std::uint64_t stride = pairs_apart.stride_bytes;
      Cold cold = cold_region(session, path, stride * pairs, fmt::format("{} pairs", path.id));
      for (std::uint64_t at = 0; at + stride <= cold.bytes; at += stride) {
        program::Walk pair = recorded(make_walk(path, 8, 4, 1), program::Record::latencies, 1);
        pair.first_byte = cold.first_byte + at;
        cold.program.phases.emplace_back(pair);
      }
      first_bytes.push_back(cold.first_byte);
      batch.push_back(std::move(cold.program));
    }
    return std::vector<program::Batch>{batch};
  });
  if (!traces) return tl::unexpected<Error>(traces.error());
  Samples result;
  result.graded.resize(1);
  for (std::size_t i = 0; i < traces->size(); ++i) {
    std::size_t pair = 0;
    for (const auto& phase : (*traces)[i].phases) {
      if (phase.latencies.size() < 2) continue;
      if (!pairs_apart.is_translated(first_bytes[i], pair++)) continue;
      add(result.graded[0], phase.latencies[0]);
      add(result.hits, phase.latencies[1]);
      result.pairs.push_back({phase.latencies[0], phase.latencies[1]});
    }
  }
  return result;
}

// Constants that something else pushed out of the nearest cache: what surely comes from behind it.
Expected<Histogram> time_pushed_constants(Session& session, const CacheFacts& cache) {
  Cold cold = cold_region(session, cache.path, 8192, fmt::format("{} cold lines", cache.path.id), cache.pushed_by);
  program::Walk lines =
      recorded(make_walk(cache.path, cold.bytes, longest_line_of_constants, 1), program::Record::histogram, 1);
  lines.first_byte = cold.first_byte;
  cold.program.phases.emplace_back(lines);
  auto traces = session.run(program::Batch(levels_repetitions, cold.program));
  if (!traces) return tl::unexpected<Error>(traces.error());
  Histogram all;
  for (const auto& trace : *traces) all = merged(all, recorded_histogram(trace));
  return all;
}

Expected<Samples> time_footprints(Session& session, CacheFacts& cache) {
  const CachePath& path = cache.path;
  FootprintSpec rows;
  rows.path = path;
  rows.stride_bytes = shortest_line_of_constants;
  program::Batch batch;
  // Levels are a quarter larger than the one in front at least (docs/domain.md).
  for (std::uint64_t bytes = few_constants; bytes <= session.info().constant_bytes_per_module;
       bytes += std::max<std::uint64_t>(few_constants, bytes / 8 / rows.stride_bytes * rows.stride_bytes))
    batch.push_back(footprint_program(session.info(), rows, bytes));
  // Those that another process's turns leave no time for are the largest ones: the others show the levels that they
  // may.
  auto footprints = session.run_while_they_fit(batch);
  if (!footprints) return tl::unexpected<Error>(footprints.error());
  auto behind = time_pushed_constants(session, cache);
  if (!behind) return tl::unexpected<Error>(behind.error());
  Samples result;
  for (const auto& trace : *footprints) result.graded.push_back(recorded_histogram(trace));
  result.hits = result.graded.front();
  // Half a bank pushed nothing out of a cache that holds a whole one.
  if (session.info().constant_modules > 1 &&
      are_alike(result.hits, *behind, cache.overhead_cycles, session.clock_share())) {
    cache.pushed_by = PushedBy::other_banks;
    behind = time_pushed_constants(session, cache);
    if (!behind) return tl::unexpected<Error>(behind.error());
  }
  result.graded.push_back(std::move(*behind));
  return result;
}

// What a cache of the fewest lines keeps at least of what it just got, whatever another program brings into an SM's
// caches until it is loaded again (docs/domain.md).
double least_kept(const Session& session, double cycles) {
  constexpr double fewest_lines = 16, most_lines_a_us = 100, khz_a_mhz = 1000;
  const double khz = session.clock_share() * static_cast<double>(session.info().gpu.clock_khz);
  const double us = cycles * khz_a_mhz / khz;
  return std::exp(-most_lines_a_us * us / fewest_lines);
}

// Whether another program may have pushed out what a first load brought in before the second one, of all lines that
// took as long twice. Of constants, of which no line is asked for by itself, wherever it makes `loads` of fewer lines
// wait, or where those are faster.
Expected<bool> may_be_pushed_out(Session& session, const CacheFacts& cache, const Samples& few,
                                 const Histogram& loads) {
  if (cache.path.slot == slot_constant || session.info().gpu.clock_khz == 0)
    return hold_more_than_strangers(loads) || hold_slower_loads(loads, few.hits, cache.overhead_cycles);
  const auto show_none = [&](const Samples& samples) {
    constexpr double nearly_all = 0.95;
    const double cycles = quantile(samples.hits, nearly_all).value_or(0);
    return show_no_hits(samples.pairs, cache.overhead_cycles, least_kept(session, cycles));
  };
  if (show_none(few)) return false;
  Samples many = few;
  for (int time = 1; time < times_beside_others; ++time) {
    auto more = if_available(time_pairs(session, cache.path));
    if (!more) return tl::unexpected<Error>(more.error());
    if (!*more) return true;
    many.hits = merged(many.hits, (*more)->hits);
    many.pairs.insert(many.pairs.end(), (*more)->pairs.begin(), (*more)->pairs.end());
  }
  return !show_none(many);
}

bool exists(const device::DeviceInfo& info, const CachePath& path, std::string& why) {
  if (path.slot == slot_constant && info.constant_modules == 0) why = "this GPU has no constant memory";
  if (path.slot == slot_texture && info.texture_elements == 0) why = "this GPU has no linear textures";
  if (path.path == program::Path::read_only && !info.has_read_only) why = "read-only loads need compute capability 3.5";
  return why.empty();
}

// Where hits and what is behind aren't told apart by their latency: whether there is such a cache at all.
Expected<void> state_untold(Session& session, const CacheFacts& cache, const Samples& samples, const Histogram& loads,
                            Memory& memory) {
  const bool all_alike = are_alike_by_line(samples.pairs, cache.overhead_cycles) ||
                         std::all_of(samples.graded.begin(), samples.graded.end(), [&](const Histogram& behind) {
                           return are_alike(samples.hits, behind, cache.overhead_cycles, session.clock_share());
                         });
  auto pushed_out = all_alike ? may_be_pushed_out(session, cache, samples, loads) : Expected<bool>(false);
  if (!pushed_out) return tl::unexpected<Error>(pushed_out.error());
  const bool holds_all = cache.path.slot == slot_constant && session.info().constant_modules < 2;
  if (all_alike && holds_all)
    set_open(memory, "levels", "nothing is farther than anything else: a cache that holds all constants, or none");
  else if (*pushed_out)
    set_open(memory, "levels",
             "a load repeated at once takes as long as the first, but another program may push out what it brought in");
  else if (all_alike)
    set_absent(memory,
               "a load repeated at once takes as long as the first: nothing in front of the level behind keeps it");
  else
    set_open(memory, "levels", "hits and misses of these loads can't be told apart by their latency");
  return {};
}

// Why loads that count as hits may be another level's, or of lines that were lost; empty where they aren't.
std::string_view why_no_hits(const Session& session, const CacheFacts& cache, const Samples& samples,
                             const LoadLatency& load) {
  if (hold_faster_kind(load.timed, load.estimate.value.value_or(0) + cache.overhead_cycles, cache.overhead_cycles))
    return "a few loads repeated at once are faster than the others: those may have been lost again";
  // Levels are no less than 5 % apart at the driver's clock, and the one behind an SM comes as near as can be where the
  // SM's is slower. Of twice as much as the nearest holds half at least comes from behind, and of that half may look
  // like its hits.
  constexpr double half_of_a_half = 0.25;
  if (session.clock_share() * least_ratio < 1 && hide_a_level(cache.levels, samples.graded, half_of_a_half))
    return "at this SM clock a level behind takes as long as its hits";
  // A cache behind that of constants may hold little more, so that no footprint has many of its loads; and nothing but
  // strangers makes those of an SM's own cache slower.
  if (cache.path.slot == slot_constant && hide_a_level(cache.levels, samples.graded, a_stranger))
    return "of more lines loads take longer than hits, by less than they differ: from a level behind";
  return {};
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
  constexpr std::uint64_t texture_element_bytes = 4;
  if (path.slot == slot_texture && texture_element_bytes * session.info().texture_elements < slot_bytes) {
    set_open(memory, "levels",
             fmt::format("linear textures have {} elements at most: too few to look for a cache with",
                         session.info().texture_elements));
    return {};
  }
  auto load = measure_load_latency(session, path);
  if (!load) return tl::unexpected<Error>(load.error());
  if (load->timed.empty())
    return fail(Error::Kind::device, fmt::format("no laps of {} loads were timed; try again", path.id));
  cache.overhead_cycles = load->overhead_cycles;
  cache.latency_cycles = load->cycles;
  auto samples = path.slot == slot_constant ? time_footprints(session, cache) : time_pairs(session, path);
  if (!samples) return tl::unexpected<Error>(samples.error());
  // Lines that were timed by the lap may have pushed each other out, in a cache of one way.
  const bool all_hit = !hold_slower_loads(samples->hits, load->timed, cache.overhead_cycles);
  cache.levels = graded_levels(all_hit ? merged(samples->hits, load->timed) : samples->hits, samples->graded,
                               cache.overhead_cycles);
  cache.levels.false_hit = std::max(cache.levels.false_hit, hidden_share(cache.levels));
  if (!levels_of(samples->hits, samples->graded.back()).usable() || !cache.levels.usable() ||
      miss_as_fast(cache.levels.hit, samples->graded, cache.overhead_cycles))
    return state_untold(session, cache, *samples, load->timed, memory);
  if (const std::string_view open = why_no_hits(session, cache, *samples, *load); !open.empty()) {
    set_open(memory, "levels", open);
    return {};
  }
  cache.present = true;
  if (path.slot == slot_constant)
    cache.behind_next_cycles = cycles_behind_near_lines(cache.levels, samples->graded.back());
  memory.attributes["latency"] = load->estimate;
  return {};
}

}  // namespace gputopo::experiments
