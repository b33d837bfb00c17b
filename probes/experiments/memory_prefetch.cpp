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
constexpr std::uint64_t runs_of_an_order = 24;  // with 11 loads each: 5 % of them are 13
// Runs lie in 64 KiB each, the smallest page that GPUs are known to give device memory, and so far apart that nothing
// of one is fetched with another. Translation is warmed by a load at the end of these, before a run's first.
constexpr std::uint64_t run_apart_bytes = 192 << 10;
constexpr std::uint64_t warming_at_bytes = 62 << 10;
// A prefetch may begin behind up to 16 misses (docs/models.md). What warms the translation is no step of a run: it lies
// more than the longest stride behind the furthest of its loads.
constexpr std::uint64_t most_run_loads = 32;
constexpr std::uint64_t run_bytes = 48 << 10;

std::uint64_t run_loads(std::uint64_t stride) {
  return std::min(most_run_loads, run_bytes / stride);
}

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
    program::Walk run = recorded(make_walk(l2_path, run_loads(stride) * stride, stride, 1), Record::latencies, 1);
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

// What hits take, the middle one of the first runs: one number for all, since of near and far lines the middle one may
// be either.
using MiddleHit = std::optional<double>;

Expected<std::optional<TimedRuns>> time_runs(ColdMemory& cold, std::uint64_t stride, MiddleHit& middle_hit) {
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
  if (!middle_hit) middle_hit = quantile(hits, 0.5);
  const double hit = middle_hit.value_or(0);
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

// Loads that close rows: far from each other and from all runs, other lines after each run.
constexpr std::uint64_t closing_apart_bytes = (96 << 10) + 384;
constexpr std::uint64_t closing_turn_bytes = 512;
constexpr std::uint64_t most_closing_loads = 256;
constexpr std::uint64_t closing_room_bytes = (most_closing_loads + 1) * closing_apart_bytes;
constexpr std::size_t phases_before_looks = 4;
constexpr std::uint64_t runs_before_closing = run_orders.size() * runs_of_an_order;

enum class Before { forward, reverse, one_above };

// Loads of a run as far as its first to its last but one, each as often, and what comes next behind closed rows:
// three times, and a single load twice more before.
program::Program closed_runs(const ColdMemory& cold, std::uint64_t stride, Before before, std::uint64_t closing) {
  program::Program p = cold.program(fmt::format("cold runs {} B apart, rows closed behind them", stride));
  for (std::uint64_t i = 0; i < runs_before_closing; ++i) {
    const std::uint64_t place = cold.begin() + i * run_apart_bytes;
    program::Walk warm = make_walk(l2_path, 4, 4, 1);
    warm.first_byte = place + warming_at_bytes;
    const std::uint64_t most = run_loads(stride), turn = 1 + i % (most - 1);
    const bool is_forward = before == Before::forward;
    const std::uint64_t loads = before == Before::one_above ? 1 : turn;
    // From its end on in reverse; a single load is one above what comes next after a run forward.
    const std::uint64_t first = is_forward                  ? 0
                                : before == Before::reverse ? most - loads
                                                            : std::min(turn + 1, most - 1);
    program::Walk run = recorded(make_walk(l2_path, loads * stride, stride, 1), Record::latencies, 1);
    run.first_byte = place + first * stride;
    run.order = is_forward ? Order::forward : Order::reverse;
    program::Walk close = make_walk(l2_path, closing * closing_apart_bytes, closing_apart_bytes, 1);
    close.first_byte = cold.begin() + runs_room_bytes + i * closing_turn_bytes;
    program::Walk next = recorded(make_walk(l2_path, 4, 4, 1), Record::latencies, 1), last = next;
    next.first_byte = is_forward ? run.first_byte + loads * stride : run.first_byte - stride;
    last.first_byte = is_forward ? next.first_byte - stride : run.first_byte;
    // Missed, it might bring in what comes next, but not what lies below.
    p.phases.insert(p.phases.end(), {warm, run, close, warm});
    if (before == Before::one_above) p.phases.insert(p.phases.end(), {last, last});
    p.phases.insert(p.phases.end(), {next, next, next});
  }
  return p;
}

struct ClosedHits {
  std::uint64_t next = 0, last = 0;
};

Expected<std::optional<ClosedHits>> look_after_closing(ColdMemory& cold, const program::Program& program,
                                                       double over_hit_cycles) {
  auto traces = cold.run({program});
  if (!traces) return tl::unexpected<Error>(traces.error());
  if (!*traces) return std::optional<ClosedHits>();
  const auto& phases = (*traces)->front().phases;
  const std::size_t each = phases.size() / runs_before_closing, looks = each - phases_before_looks;
  ClosedHits closed;
  for (std::size_t end = each; end <= phases.size(); end += each) {
    const auto look = [&](std::size_t back) -> double { return phases[end - back].latencies.front(); };
    closed.next += look(3) - std::min(look(2), look(1)) < over_hit_cycles ? 1 : 0;
    if (looks == 5) closed.last += look(5) - look(4) < over_hit_cycles ? 1 : 0;
  }
  return std::optional(closed);
}

// With as few loads that close rows as do: they may bring in more than they load. Nothing where a neighbour leaves no
// time for it.
Expected<std::optional<AfterClosing>> close_rows(ColdMemory& cold, std::uint64_t stride, double over_hit_cycles,
                                                 std::uint64_t closing) {
  for (;; closing *= 4) {
    AfterClosing after;
    after.loads = runs_before_closing;
    for (const Before before : {Before::one_above, Before::forward, Before::reverse}) {
      auto hits = look_after_closing(cold, closed_runs(cold, stride, before, closing), over_hit_cycles);
      if (!hits) return tl::unexpected<Error>(hits.error());
      if (!*hits) return std::optional<AfterClosing>();
      if (before == Before::one_above) after.below_hits = (*hits)->next, after.loaded_hits = (*hits)->last;
      if (before == Before::forward) after.forward_hits = (*hits)->next;
      if (before == Before::reverse) after.reverse_hits = (*hits)->next;
      if (before == Before::one_above && !after.are_rows_closed() && closing * 4 <= most_closing_loads) break;
      if (before == Before::reverse) return std::optional(after);
    }
  }
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

struct ShownHits {
  std::vector<StrideHits> strides;
  double threshold_cycles = 0;  // as if no line were nearer than another
};

// Strides whose hits show: second looks at the same lines do, first ones of all don't.
ShownHits shown_hits(const std::vector<TimedRuns>& all, std::string& why_not) {
  Histogram hit, miss;
  for (const TimedRuns& t : all) hit = merged(hit, t.again), miss = merged(miss, t.firsts);
  const auto threshold = ColdMemory::threshold_cycles(hit, miss);
  ShownHits shown;
  if (!threshold) {
    why_not = "loads that were made before take as long as those that weren't, so that a hit doesn't show";
    return shown;
  }
  shown.threshold_cycles = *threshold;
  constexpr double most = 0.75;  // of hits have to show, and of what nobody fetched no more than the rest may hit
  for (const TimedRuns& t : all) {
    const StrideHits s = hits_of(t, *threshold);
    const auto below = static_cast<double>(total(t.again) - count_from(t.again, *threshold));
    const bool shows = below > most * static_cast<double>(total(t.again)) &&
                       static_cast<double>(s.first_hits) < (1 - most) * static_cast<double>(s.firsts);
    if (shows) shown.strides.push_back(s);
  }
  return shown;
}

Expected<void> look_behind_closed_rows(Session& session, const CacheFacts& memory, double over_hit_cycles,
                                       std::vector<StrideHits>& strides) {
  ColdMemory cold(session, memory.capacity_bytes, runs_room_bytes + closing_room_bytes);
  if (!cold.fits()) return {};
  constexpr std::uint64_t least_closing_loads = 16;
  for (StrideHits& s : strides) {
    if (!depends_on_order(s)) continue;
    auto after = close_rows(cold, s.stride_bytes, over_hit_cycles, least_closing_loads);
    if (!after) return tl::unexpected<Error>(after.error());
    s.after_closing = *after;
  }
  return {};
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
  MiddleHit middle_hit;
  for (std::uint64_t stride = least_stride_bytes; stride <= most_stride_bytes; stride *= 2) {
    auto timed = time_runs(cold, stride, middle_hit);
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
  ShownHits shown = shown_hits(all, why_not);
  std::vector<StrideHits>& strides = shown.strides;
  if (auto ok = look_behind_closed_rows(session, *facts, shown.threshold_cycles - middle_hit.value_or(0), strides); !ok)
    return ok;
  if (!strides.empty()) session.keep(curve_of(strides, "device_memory"));
  statement = why_not.empty() ? fetched_ahead(strides) : undecided("cold_runs", why_not);
  return {};
}

}  // namespace gputopo::experiments
