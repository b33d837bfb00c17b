// The L2's hits, held against loads that no cache can serve; its sector, from cold loads of every word.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "evidence/inference/curves.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/inference/modes.hpp"
#include "evidence/lines/l2_sector.hpp"
#include "evidence/lines/looked_at_twice.hpp"
#include "evidence/looks/flush.hpp"
#include "evidence/looks/latency.hpp"
#include "evidence/looks/longest_line.hpp"
#include "evidence/memory/memory_latency.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;
using program::Record;
using program::Walk;

constexpr std::uint64_t l2_levels_stride_bytes = 1152;  // nine lines of 128 B: over all slices
constexpr std::uint64_t l2_levels_lines = 192;
constexpr std::uint64_t lines_looked_at_twice = 384;
constexpr std::size_t times_looked_at_twice = 3;

struct Hits {
  std::vector<double> by_line;  // what each line's loads take undisturbed
  Histogram timed;
  std::size_t delayed = 0;  // of these, beyond what its line's loads take
};

double quantile_of(std::vector<double> numbers, double q) {
  std::sort(numbers.begin(), numbers.end());
  return numbers.empty() ? 0 : numbers[static_cast<std::size_t>(q * static_cast<double>(numbers.size() - 1))];
}

// The second of two loads of a line: a small L2, or one that others fill, may have lost it since the last look.
Expected<Hits> time_hits(Session& session) {
  program::Program p = make_program("l2 hits", session.info(), slot_flush);
  p.agents = {{0, 0}};  // as far from them at every look
  // Where a phase has all lanes they also carry off what the others record, much faster than one does.
  p.phases = {by_all_lanes(make_walk(l2_path, l2_levels_lines * l2_levels_stride_bytes, l2_levels_stride_bytes, 2),
                           session.info())};
  Walk look = make_walk(l2_path, cold_word_bytes, cold_word_bytes, 1);
  for (std::uint64_t line = 0; line < l2_levels_lines; ++line, look.first_byte += l2_levels_stride_bytes) {
    p.phases.emplace_back(look);
    p.phases.emplace_back(recorded(look, Record::latencies, 1));
  }
  auto traces = session.run(program::Batch(looks_at_a_line, p));
  if (!traces) return tl::unexpected<Error>(traces.error());
  Hits hits;
  LooksByLine looks(l2_levels_lines);
  for (const program::ProgramTrace& trace : *traces)
    for (std::uint64_t line = 0; line < l2_levels_lines; ++line) {
      looks[line].push_back(trace.phases[2 * line + 2].latencies.at(0));
      add(hits.timed, looks[line].back());
    }
  hits.by_line = undisturbed_by_line(looks);
  for (std::size_t line = 0; line < looks.size(); ++line)
    for (const std::uint32_t cycles : looks[line]) hits.delayed += cycles > hits.by_line[line] + least_fence_cycles;
  return hits;
}

// Words in ascending order that nobody has loaded before, in another place at each look.
Expected<LooksByLine> time_cold_words(Session& session, std::uint64_t flush_bytes) {
  constexpr std::uint64_t walk_bytes = 8192;
  constexpr std::size_t looks_at_a_word = 5;
  program::Program p = make_program("l2 cold", session.info(), slot_flush);
  p.isolation = Scope::gpu;
  constexpr std::uint64_t apart_bytes = 64 << 10;
  const std::uint64_t buffer_bytes = flush_bytes + (looks_at_a_word + 1) * apart_bytes;
  p.buffers[slot_flush].size_bytes = std::max(buffer_bytes, slot_bytes);
  Walk cold = recorded(make_walk(l2_path, walk_bytes, cold_word_bytes, 1), Record::latencies, 1);
  Walk page =
      make_walk(l2_path, cold_word_bytes, cold_word_bytes, 1);  // translated, but not the bytes that are looked at
  LooksByLine looks(walk_bytes / cold_word_bytes);
  for (std::size_t i = 0; i < looks_at_a_word; ++i) {
    // Other words each time, and where it was interrupted: a flush may leave out some that were looked at before.
    std::uint64_t at = flush_bytes + (i + 1) * apart_bytes;
    const std::uint64_t last = at + apart_bytes - 2 * walk_bytes;
    auto traces = session.run_in_order([&] {
      cold.first_byte = at;
      page.first_byte = at - 1024;
      at = std::min(at + walk_bytes, last);
      p.phases = {page, cold};
      return std::vector<program::Batch>{flush_batch(session.info(), flush_bytes, buffer_bytes), {p}};
    });
    if (!traces) return tl::unexpected<Error>(traces.error());
    const auto& latencies = traces->back().phases.back().latencies;
    for (std::size_t word = 0; word < looks.size(); ++word) looks[word].push_back(latencies.at(word));
  }
  return looks;
}

// Whether loads of lines that nobody has loaded are as fast as repeated ones: by their means, where lines of either lie
// at distances of their own (an interval's end is passed once in forty times, twice as far off once in ten thousand);
// or, where these hide a level, line by line.
Expected<bool> keeps_nothing(Session& session, const CacheFacts& l2, const CacheFacts& memory, double off_cycles) {
  // Lines loaded again and again are there whatever another program does to the others.
  const double fastest =
      std::max(1.0, std::min(whole_mode(l2.levels.hit).centre - l2.overhead_cycles, l2.latency_cycles));
  const double ratio = (whole_mode(l2.levels.next).centre - l2.overhead_cycles) / fastest;
  if (ratio + off_cycles / fastest < least_ratio) return true;
  auto pairs =
      if_available(time_flushed_twice(session, memory.capacity_bytes, lines_looked_at_twice, times_looked_at_twice));
  if (!pairs) return tl::unexpected<Error>(pairs.error());
  return *pairs && are_alike_by_line(**pairs, l2.overhead_cycles);
}

// Of the interval of what lines take on average.
double half_width(const std::vector<double>& by_line) {
  const Estimate mean = mean_estimate(by_line, "cycles", {});
  return mean.interval ? mean.interval->high - *mean.value : 0;
}

// Where others push lines out of the L2 a repeated load finds there what the first one brought in from memory, and an
// L1 seems to be in front: loads that take as long as the L2's, `nearest_cycles`, are its own.
void drop_l1_as_slow_as(double nearest_cycles, Findings& findings) {
  CacheFacts* l1 = findings.cache("l1");
  if (l1 == nullptr || !l1->present || l1->latency_cycles * half_a_level <= nearest_cycles) return;
  l1->present = false;
  Memory& memory = findings.memory("l1");
  memory.attributes.clear();
  set_open(memory, "levels", "its hits take as long as those of the L2");
}

// Slices lie at different distances: the L1's lines may have their homes in the nearest. Where others fill it the L2
// has lost most lines from lap to lap, and two that are loaded again and again tell more.
double nearest_of(const CacheFacts& l2, const Hits& hits) {
  return std::min(quantile_of(hits.by_line, 0.05) - l2.overhead_cycles, l2.latency_cycles);
}

// Loads past the SMs' caches are an L2's or memory's, whether or not what is behind it can be timed.
Expected<void> drop_l1_as_slow_as_loads_past_it(Session& session, Findings& findings) {
  if (findings.cache("l1") == nullptr) return {};
  auto load = if_available(measure_load_latency(session, l2_path));
  if (!load) return tl::unexpected<Error>(load.error());
  if (*load && !(*load)->timed.empty()) drop_l1_as_slow_as((*load)->cycles, findings);
  return {};
}

// Whether lines behind a flush that take no longer than hits may were kept by the L2: most take as long once more. Else
// they are the nearest of memory's, where slices lie further apart than levels do.
Expected<bool> were_kept(Session& session, const CacheFacts& l2, std::uint64_t flush_bytes) {
  auto pairs = if_available(time_flushed_twice(session, flush_bytes, lines_looked_at_twice, times_looked_at_twice));
  if (!pairs) return tl::unexpected<Error>(pairs.error());
  if (!*pairs) return true;
  std::erase_if(**pairs, [&](const LoadPair& pair) { return pair.first_cycles >= l2.levels.threshold_cycles; });
  return 2 * sooner_less_later(**pairs, l2.overhead_cycles) <= (*pairs)->size();
}

// Sets that an uneven index gives few lines of a flush keep some of what came before: these are none of memory's.
Expected<void> leave_out_kept_lines(Session& session, Findings& findings) {
  const CacheFacts& l2 = *findings.cache("l2");
  CacheFacts& memory = *findings.cache("device_memory");
  const auto kept = [&](double cycles) { return cycles < l2.levels.threshold_cycles; };
  if (std::none_of(memory.by_line.begin(), memory.by_line.end(), kept)) return {};
  const auto are_kept = were_kept(session, l2, memory.capacity_bytes);
  if (!are_kept) return tl::unexpected<Error>(are_kept.error());
  if (!*are_kept) return {};
  std::erase_if(memory.by_line, kept);
  if (memory.by_line.size() < 2) return {};
  const Estimate& latency = findings.memory("device_memory").attributes["latency"];
  state_memory_latency(session, findings, memory.by_line, latency.samples);
  memory.latency_cycles = *latency.value;
  return {};
}

}  // namespace

Expected<void> measure_l2_levels(Session& session, Findings& findings) {
  Memory& memory = findings.memory("l2");
  if (session.info().l2_bytes != 0)
    memory.attributes["size"] = from_api(static_cast<double>(session.info().l2_bytes), "B");
  CacheFacts& l2 = findings.caches["l2"];
  l2.path = l2_path;
  const CacheFacts* behind = findings.cache("device_memory");
  if (behind == nullptr) {
    set_open(memory, "levels", "the latency of device memory isn't known");
    return drop_l1_as_slow_as_loads_past_it(session, findings);
  }
  auto hits = time_hits(session);
  if (!hits) return tl::unexpected<Error>(hits.error());
  findings.others_delay_loads = are_more_than_strangers(hits->delayed, total(hits->timed));
  l2.overhead_cycles = behind->overhead_cycles;
  l2.quartile_cycles = behind->quartile_cycles;
  l2.levels = levels_of(hits->timed, behind->levels.next);
  if (!l2.levels.usable()) {
    auto absent = keeps_nothing(session, l2, *behind, 2 * (half_width(hits->by_line) + half_width(behind->by_line)));
    if (!absent) return tl::unexpected<Error>(absent.error());
    if (*absent) {
      set_absent(memory,
                 "loads that were never made before are as fast as repeated ones: nothing behind L1 keeps them");
      return {};
    }
    drop_l1_as_slow_as(nearest_of(l2, *hits), findings);
    set_open(memory, "levels", "hits and misses can't be told apart by their latency");
    return {};
  }
  drop_l1_as_slow_as(nearest_of(l2, *hits), findings);
  l2.present = true;
  // Lines that it loses between two looks aren't hits: some sets take more of these lines than they hold.
  std::erase_if(hits->by_line, [&](double cycles) { return cycles >= l2.levels.threshold_cycles; });
  const Estimate latency = without_clock(mean_estimate(hits->by_line, "cycles", "line_quartiles"), l2.overhead_cycles);
  std::vector<double> by_line = hits->by_line;
  for (double& cycles : by_line) cycles -= l2.overhead_cycles;
  session.keep(numbers_curve("l2", "latency", {"latency without the clock", "cycles", false}, "lines",
                             std::move(by_line), latency));
  l2.latency_cycles = *latency.value;
  l2.by_line = hits->by_line;
  if (auto done = leave_out_kept_lines(session, findings); !done) return done;
  memory.attributes["latency"] = latency;
  auto words = time_cold_words(session, behind->capacity_bytes);
  if (!words) return tl::unexpected<Error>(words.error());
  for (std::size_t word = 0; word < words->size(); word += longest_line_bytes / cold_word_bytes)
    for (const std::uint32_t cycles : (*words)[word]) add(findings.l2_cold_in_a_row, cycles);
  findings.l2_cold_words = undisturbed_by_line(std::move(*words));
  state_l2_sector(session, findings, l2.levels);
  return {};
}

}  // namespace gputopo::experiments
