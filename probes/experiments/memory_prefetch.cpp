// Hardware prefetch into the L2: short runs of loads through memory that no cache has, at strides from a sector to a
// page of 4 KiB, forward, in reverse and shuffled (Mei and Chu 2017, section 4.6).
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "evidence/inference/estimates.hpp"
#include "evidence/looks/structure.hpp"
#include "evidence/memory/cold_memory.hpp"
#include "evidence/memory/fetched_ahead.hpp"
#include "evidence/memory/kept_translation.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;
using program::Order;
using program::Record;

constexpr std::uint64_t least_stride_bytes = 32;  // no sector there has been is smaller
constexpr std::uint64_t most_stride_bytes = 4096;
constexpr std::uint64_t run_loads = 16;
constexpr std::uint64_t runs_of_an_order = 24;  // with 15 loads each: 5 % of them are 18
// Runs lie in 64 KiB each, the smallest page that GPUs are known to give device memory, and so far apart that nothing
// of one is fetched with another. Translation is warmed by a load at the end of these, before a run's first.
constexpr std::uint64_t run_apart_bytes = 192 << 10;
constexpr std::uint64_t warming_at_bytes = 62 << 10;
constexpr std::size_t phases_of_a_run = 4;
constexpr std::array<Order, 3> run_orders{Order::forward, Order::reverse, Order::shuffled};
constexpr std::uint64_t runs_room_bytes = run_orders.size() * runs_of_an_order * run_apart_bytes;

// All runs of an order, each of them twice more right behind it: those loads hit.
program::Program runs_of(const ColdMemory& cold, std::uint64_t stride, std::size_t order) {
  program::Program p = cold.program(fmt::format("cold runs {} B apart, {}", stride, to_string(run_orders[order])));
  for (std::uint64_t i = 0; i < runs_of_an_order; ++i) {
    const std::uint64_t place = cold.begin() + (order * runs_of_an_order + i) * run_apart_bytes;
    program::Walk warm = make_walk(l2_path, 4, 4, 1);
    warm.first_byte = place + warming_at_bytes;
    program::Walk run = recorded(make_walk(l2_path, run_loads * stride, stride, 1), Record::latencies, 1);
    run.first_byte = place;
    run.order = run_orders[order];
    run.order_seed = i + 1;
    p.phases.insert(p.phases.end(), {warm, run, run, run});
  }
  return p;
}

// What the runs of one stride took, by order: each run's loads in their order; and all of them once more. Each as if
// its line were no nearer than any other: less what its hit takes, by the faster of two, and more what hits take.
struct TimedRuns {
  std::uint64_t stride_bytes = 0;
  std::array<std::vector<std::vector<std::uint32_t>>, run_orders.size()> runs;
  Histogram firsts, again;
};

Expected<std::optional<TimedRuns>> time_runs(ColdMemory& cold, std::uint64_t stride) {
  program::Batch batch;
  for (std::size_t order = 0; order < run_orders.size(); ++order) batch.push_back(runs_of(cold, stride, order));
  auto traces = cold.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  if (!*traces) return std::optional<TimedRuns>();
  TimedRuns timed;
  timed.stride_bytes = stride;
  Histogram hits;
  for (const auto& trace : **traces)
    for (std::size_t i = 0; i < trace.phases.size(); i += phases_of_a_run)
      for (const std::uint32_t cycles : trace.phases[i + 2].latencies) add(hits, cycles);
  const double hit = quantile(hits, 0.5).value_or(0);
  const auto alike = [&](double cycles, double own) {
    return static_cast<std::uint32_t>(std::max(0.0, cycles - own + hit));
  };
  for (std::size_t order = 0; order < run_orders.size(); ++order) {
    const auto& phases = (**traces)[order].phases;
    for (std::size_t i = 0; i < phases.size(); i += phases_of_a_run) {
      std::vector<std::uint32_t>& run = timed.runs[order].emplace_back(phases[i + 1].latencies);
      for (std::size_t k = 0; k < run.size(); ++k) {
        const double again = phases[i + 2].latencies[k], once_more = phases[i + 3].latencies[k];
        run[k] = alike(run[k], std::min(again, once_more));
        add(timed.again, alike(again, once_more));
      }
      add(timed.firsts, run.front());
    }
  }
  return std::optional(std::move(timed));
}

StrideHits hits_of(const TimedRuns& timed, double threshold_cycles) {
  StrideHits s;
  s.stride_bytes = timed.stride_bytes;
  const std::array<RunHits*, run_orders.size()> into{&s.forward, &s.reverse, &s.shuffled};
  for (std::size_t order = 0; order < run_orders.size(); ++order)
    for (const auto& run : timed.runs[order])
      for (std::size_t k = 0; k < run.size(); ++k) {
        const std::uint64_t hit = run[k] < threshold_cycles ? 1 : 0;
        RunHits& h = *into[order];
        if (k == 0) ++s.firsts, s.first_hits += hit;
        if (k != 0) ++h.loads, h.hits += hit;
        if (k == 1) ++h.seconds, h.second_hits += hit;
      }
  return s;
}

// Strides whose hits show: second looks at the same lines do, first ones of all don't.
std::vector<StrideHits> shown_hits(const std::vector<TimedRuns>& all, std::string& why_not) {
  Histogram hit, miss;
  for (const TimedRuns& t : all) hit = merged(hit, t.again), miss = merged(miss, t.firsts);
  const auto threshold = ColdMemory::threshold_cycles(hit, miss);
  std::vector<StrideHits> shown;
  if (!threshold) {
    why_not = "loads that were made before take as long as those that weren't, so that a hit doesn't show";
    return shown;
  }
  constexpr double most = 0.75;  // of hits have to show, and of what nobody fetched no more than the rest may hit
  for (const TimedRuns& t : all) {
    const StrideHits s = hits_of(t, *threshold);
    const auto below = static_cast<double>(total(t.again) - count_from(t.again, *threshold));
    const bool shows = below > most * static_cast<double>(total(t.again)) &&
                       static_cast<double>(s.first_hits) < (1 - most) * static_cast<double>(s.firsts);
    if (shows) shown.push_back(s);
  }
  return shown;
}

}  // namespace

Expected<void> measure_memory_prefetch(Session& session, Findings& findings) {
  const CacheFacts* facts = findings.cache("device_memory");
  if (facts == nullptr) return {};
  Statement& statement = findings.memory("device_memory").structure["prefetch"] =
      undecided("cold_runs", "memory has no room for it behind what empties the L2");
  ColdMemory cold(session, facts->capacity_bytes, runs_room_bytes);
  if (!cold.fits()) return {};
  std::vector<TimedRuns> all;
  for (std::uint64_t stride = least_stride_bytes; stride <= most_stride_bytes; stride *= 2) {
    auto timed = time_runs(cold, stride);
    if (!timed) return tl::unexpected<Error>(timed.error());
    if (!*timed) {
      statement.note = "a neighbour on the GPU left no time for it";
      return {};
    }
    all.push_back(std::move(**timed));
  }
  auto untranslated = why_untranslated(session, findings);
  if (!untranslated) return tl::unexpected<Error>(untranslated.error());
  if (*untranslated) {
    statement.note = **untranslated;
    return {};
  }
  std::string why_not;
  const std::vector<StrideHits> strides = shown_hits(all, why_not);
  if (!strides.empty()) session.keep(curve_of(strides, "device_memory"));
  statement = why_not.empty() ? fetched_ahead(strides) : undecided("cold_runs", why_not);
  return {};
}

}  // namespace gputopo::experiments
