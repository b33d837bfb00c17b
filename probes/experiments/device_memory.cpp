// Device memory: latency of loads that no cache holds; size as the driver states it. How much has to be walked until no
// cache answers isn't known beforehand (there may be one behind the L2), so the walk in between grows until the latency
// no longer does.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "evidence/inference/estimates.hpp"
#include "evidence/inference/modes.hpp"
#include "evidence/looks/flush.hpp"
#include "evidence/looks/latency.hpp"
#include "evidence/memory/kept_translation.hpp"
#include "evidence/memory/memory_latency.hpp"
#include "evidence/memory/open_rows.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;
using program::Record;
using program::Walk;

constexpr std::uint64_t device_memory_lines = 384;
// Lines lie 200 of 630 cycles apart, by their side (an H200): of so many the mean is known within a percent. A stretch
// is as short as another process's turns ask for.
constexpr std::uint64_t stretch_lines = 768;
constexpr std::uint64_t stretches = 4;
constexpr std::size_t looks_at_a_stretch = 3;

// Looks at `count` lines that `flush_bytes` of other loads came after, which lie from `begin` on; at those whose
// translation the line before brought in.
Expected<LooksByLine> looks_behind(Session& session, std::uint64_t begin, std::uint64_t flush_bytes, std::size_t times,
                                   const LinesApart& apart, std::uint64_t count = device_memory_lines) {
  const std::uint64_t looked_bytes = count * apart.stride_bytes;
  const std::uint64_t end = begin + flush_bytes, buffer_bytes = end + looked_bytes;
  program::Program p =
      make_program(fmt::format("device memory behind {} MiB", flush_bytes >> 20), session.info(), slot_flush);
  p.isolation = Scope::gpu;
  p.buffers[slot_flush].size_bytes = std::max(buffer_bytes, slot_bytes);
  Walk timed = make_walk(l2_path, looked_bytes, apart.stride_bytes, 1);
  timed.first_byte = end;
  program::Program translate = p;
  translate.phases = {timed};  // the TLBs' first misses belong to nobody's latency
  p.phases = {recorded(timed, Record::latencies, 1)};
  std::vector<std::size_t> lines;
  for (std::size_t line = 0; line < count; ++line)
    if (apart.is_translated(end, line)) lines.push_back(line);
  LooksByLine looks(lines.size());
  for (std::size_t i = 0; i < times; ++i) {
    auto traces = session.run_in_order([&] {
      return std::vector<program::Batch>{
          {translate}, flush_batch(session.info(), flush_bytes, buffer_bytes, flush_line_bytes, begin), {p}};
    });
    if (!traces) return tl::unexpected<Error>(traces.error());
    const auto& latencies = traces->back().phases.back().latencies;
    for (std::size_t k = 0; k < lines.size(); ++k) looks[k].push_back(latencies.at(lines[k]));
  }
  return looks;
}

// Whether loads take as long as those that less came between. Means: where a cache that replaces at random is just
// overflown most loads, and every quartile, are still its own. And the fastest ones: where it is overflown several
// times one load in ten or twenty is, which means hardly show.
bool are_level(const Histogram& less, const Histogram& more) {
  constexpr double same = 0.02, level = 0.05;  // levels of memory are 5 % apart at least (docs/domain.md)
  constexpr double fastest = 0.05;
  if (*quantile(more, fastest) > (1 + level) * *quantile(less, fastest)) return false;
  const auto half_width = [](const Estimate& e) { return (e.interval->high - e.interval->low) / 2; };
  const Estimate before = mean_estimate(values(less), "cycles", ""), now = mean_estimate(values(more), "cycles", "");
  return *now.value - *before.value <= same * *before.value + std::hypot(half_width(before), half_width(now));
}

Histogram rounded(const std::vector<double>& lines) {
  Histogram all;
  for (const double cycles : lines) add(all, static_cast<std::uint32_t>(std::lround(cycles)));
  return all;
}

// The lower quartile and its 95 % interval, by ranks.
Interval around_quartile(const Histogram& loads) {
  const double off = 1.96 * std::sqrt(undisturbed_share * (1 - undisturbed_share) / static_cast<double>(total(loads)));
  const auto at = [&](double share) { return quantile(loads, std::clamp(share, 0.0, 1.0)).value_or(0); };
  return {at(undisturbed_share - off), at(undisturbed_share + off)};
}

// Whether loads take longer than others by more than chance, strangers left out, or those do that nobody delays.
bool are_surely_farther(const Histogram& near, const Histogram& far) {
  constexpr double half_a_cycle = 0.5;
  if (around_quartile(far).low - around_quartile(near).high > half_a_cycle) return true;
  const Mode before = whole_mode(near), now = whole_mode(far);
  return now.centre - before.centre > std::hypot(before.error, now.error);
}

// Neighbours in one row of DRAM are as near as open rows are. Where lines in rows of their own are farther, and TLBs
// have their translations, they are memory's. Where TLBs haven't it may be either that makes them so.
Expected<LinesApart> how_far_apart(Session& session, Findings& findings, std::uint64_t begin, std::uint64_t flush_bytes,
                                   const Histogram& near) {
  auto far = looks_behind(session, begin, flush_bytes, 1, in_a_large_page);
  if (!far) return tl::unexpected<Error>(far.error());
  if (!are_surely_farther(near, histogram_of(*far))) return in_a_small_page;
  const auto untranslated = why_untranslated(session, findings);
  if (!untranslated) return tl::unexpected<Error>(untranslated.error());
  findings.kept_translation.reset();  // more will be known of the L2 when it is asked for that
  if (!*untranslated) return in_a_large_page;
  const auto rows = do_rows_show(session, flush_bytes);
  if (!rows) return tl::unexpected<Error>(rows.error());
  findings.memory_in_open_rows = rows->value_or(true);
  return in_a_small_page;
}

// How much has to be walked in between.
struct Flushed {
  std::uint64_t first = 0, bytes = 0;  // as a beginning, and in the end
  LooksByLine timed;                   // behind more than that
  bool is_level = false;               // and took no longer than behind that
};

Expected<Flushed> flush_to_level(Session& session, std::uint64_t room) {
  constexpr int most_doublings = 5;
  // Caches behind an L2 hold up to eight times as much as it does, or half of this (docs/domain.md).
  constexpr std::uint64_t far_more = 512 << 20;
  const std::uint64_t first = std::min(room, std::max<std::uint64_t>(8 * session.info().l2_bytes, 32 << 20));
  Flushed all{first, first, {}, false};
  const auto look = [&](std::uint64_t begin, std::uint64_t bytes) {
    return looks_behind(session, begin, bytes, 1, in_a_small_page);
  };
  auto less = look(0, first);
  if (!less) return tl::unexpected<Error>(less.error());
  all.timed = std::move(*less);
  for (int doubling = 0; doubling < most_doublings && 2 * all.bytes <= room && !all.is_level; ++doubling) {
    // All of it new: of what came before a cache that goes by age keeps lines where they are, and lets none go for it.
    auto more = look(2 * all.bytes - first, 2 * all.bytes);
    if (!more) return tl::unexpected<Error>(more.error());
    all.is_level = are_level(histogram_of(all.timed), histogram_of(*more));
    if (const std::uint64_t most = std::min(room, far_more); all.is_level && 2 * all.bytes < most) {
      const std::uint64_t looked = device_memory_lines * in_a_small_page.stride_bytes;
      auto far = look(std::min(4 * all.bytes - first, 2 * room - most - looked), most);
      if (!far) return tl::unexpected<Error>(far.error());
      all.is_level = are_level(histogram_of(*more), histogram_of(*far));
    }
    if (!all.is_level) all.bytes *= 2;
    all.timed = std::move(*more);
  }
  return all;
}

}  // namespace

Expected<void> measure_device_memory(Session& session, Findings& findings) {
  Memory& memory = findings.memory("device_memory");
  memory.kind = Kind::memory;
  memory.physical_cache = memory.id;
  memory.attributes["size"] = from_api(static_cast<double>(session.info().memory_bytes), "B");
  auto load = measure_load_latency(session, l2_path);
  if (!load) return tl::unexpected<Error>(load.error());
  const std::uint64_t room = session.info().largest_buffer_bytes / 2;
  auto reached = flush_to_level(session, room);
  if (!reached) return tl::unexpected<Error>(reached.error());
  const auto [first, flush, timed, level] = std::move(*reached);
  CacheFacts& facts = findings.caches["device_memory"];
  facts.capacity_bytes = flush;
  facts.overhead_cycles = load->overhead_cycles;
  facts.quartile_cycles = load->quartile_cycles;
  const auto give_up = [&](const Error& why) {
    findings.caches.erase("device_memory");
    return tl::unexpected<Error>(why);
  };
  const auto apart = how_far_apart(session, findings, flush - first, flush, histogram_of(timed));
  if (!apart) return give_up(apart.error());
  findings.lines_apart = *apart;
  auto again = looks_behind(session, flush - first, flush, looks_at_a_line, *apart);
  if (!again) return give_up(again.error());
  const Histogram all = histogram_of(*again);
  facts.by_line = undisturbed_by_line(std::move(*again));
  state_memory_latency(session, findings, facts.by_line, total(all));
  Estimate& latency = memory.attributes["latency"];
  if (!level) bound_below(latency, "the latency still grew with what was loaded in between");
  facts.latency_cycles = *latency.value;
  findings.caches["l2"].latency_cycles = load->cycles;  // if there is one
  facts.levels.next = all;
  return {};
}

// More lines, of stretches that take as long as those that all new loads came before: of what is loaded between once
// more a cache behind the L2 that goes by the order of loads has some, and keeps what is looked at.
Expected<void> measure_memory_latency(Session& session, Findings& findings) {
  const CacheFacts* memory = findings.cache("device_memory");
  if (memory == nullptr) return {};
  const CacheFacts* l2 = findings.cache("l2");
  const LinesApart& apart = findings.lines_apart;
  std::vector<double> by_line = memory->by_line;
  if (by_line.empty()) return {};
  // Sooner than hits end and than any line was that is memory's for sure: the L2 kept it.
  const double soonest = *std::min_element(by_line.begin(), by_line.end());
  const double kept_cycles = l2 != nullptr && l2->present ? std::min(soonest, l2->levels.threshold_cycles) : 0;
  std::uint64_t samples = findings.memory("device_memory").attributes["latency"].samples;
  // Of three looks all are delayed in one line of twenty, where others delay four loads in ten.
  const std::size_t looks_at_each = findings.others_delay_loads ? looks_at_a_line : looks_at_a_stretch;
  for (std::uint64_t i = 1; i <= stretches; ++i) {
    const std::uint64_t begin = i * stretch_lines * apart.stride_bytes;
    if (begin + memory->capacity_bytes + stretch_lines * apart.stride_bytes > session.info().largest_buffer_bytes)
      break;
    auto looks =
        if_available(looks_behind(session, begin, memory->capacity_bytes, looks_at_each, apart, stretch_lines));
    if (!looks) return tl::unexpected<Error>(looks.error());
    if (!*looks) return {};  // what is known stands
    const std::uint64_t looked = (*looks)->size() * looks_at_each;
    std::vector<double> more = undisturbed_by_line(std::move(**looks));
    std::erase_if(more, [&](double cycles) { return cycles < kept_cycles; });
    if (more.empty() || !are_level(rounded(more), rounded(memory->by_line))) continue;
    samples += looked;
    by_line.insert(by_line.end(), more.begin(), more.end());
  }
  state_memory_latency(session, findings, std::move(by_line), samples);
  return {};
}

}  // namespace gputopo::experiments
