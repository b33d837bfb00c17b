#include "experiments/crosscheck/judge.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "evidence/inference/capacity.hpp"
#include "evidence/inference/histogram.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;

using Shape = PlannedCheck::Shape;

// What a launch of this shape counts though it loads nothing.
struct Base {
  double loads = 0;
  double misses = 0;
};
using BaseKey = std::tuple<Shape, std::uint32_t, std::uint32_t, std::size_t>;  // and carve-out, modules, phases

BaseKey key_of(const PlannedCheck& planned) {
  std::size_t phases = 0;
  if (planned.modules > 1) phases = planned.launch.front().phases.size();
  return {planned.shape, planned.carve_out_percent, planned.modules, phases};
}

struct Timed {
  std::uint64_t asked = 0;
  std::uint64_t laps = 0;
  std::uint64_t misses = 0;  // of recorded phases
  std::uint64_t warm_loads = 0;
  std::uint64_t warm_misses = 0;
  std::uint64_t lines = 0;  // visited first by this launch, as often as it may have emptied the cache in between
};

Timed timed(const PlannedCheck& planned, const CountedRun& run, double threshold_cycles) {
  Timed t;
  for (std::size_t p = 0; p < planned.launch.size(); ++p)
    for (std::size_t i = 0; i < planned.launch[p].phases.size(); ++i) {
      const auto* walk = std::get_if<program::Walk>(&planned.launch[p].phases[i]);
      if (walk == nullptr) continue;
      t.asked += program::lap_loads(*walk) * walk->laps;
      t.lines += program::lap_loads(*walk);
      t.laps += walk->laps;
      if (i < planned.warm_phases) t.warm_loads += program::lap_loads(*walk) * walk->laps;
      if (walk->record != program::Record::histogram) continue;
      const std::uint64_t misses = count_from(run.traces[p].phases[i].histogram, threshold_cycles);
      t.misses += misses;
      if (i < planned.warm_phases) t.warm_misses += misses;
    }
  return t;
}

std::map<BaseKey, Base> bases_of(const Subject& subject, const std::vector<CountedRun>& runs,
                                 CrossCheckReport& report) {
  std::map<BaseKey, std::pair<std::vector<double>, std::vector<double>>> counts;
  for (std::size_t i = 1; i < runs.size(); ++i) {  // the first launch after a pause is like no other
    const PlannedCheck& planned = subject.plan[i];
    if (!planned.empty) continue;
    const Timed t = timed(planned, runs[i], subject.threshold_cycles);
    auto& [loads, misses] = counts[key_of(planned)];
    loads.push_back(runs[i].values[0] - static_cast<double>(t.asked));
    misses.push_back(runs[i].values[1] - static_cast<double>(t.misses) * subject.units_a_miss);
  }
  std::map<BaseKey, Base> bases;
  for (auto& [key, lists] : counts) {
    auto& [loads, misses] = lists;
    bases[key] = {median(loads), median(misses)};
    const auto [least, most] = std::minmax_element(misses.begin(), misses.end());
    if (subject.tolerance == 0 && std::get<Shape>(key) == Shape::recorded && *least != *most)
      report.notes.push_back(fmt::format("{}: launches that load nothing count {:.0f} to {:.0f} {}", subject.memory,
                                         *least, *most, subject.metrics.misses));
  }
  return bases;
}

std::string_view verdict_of(double by_timing, double by_counter, double allowed) {
  const double difference = std::fabs(by_timing - by_counter);
  if (difference == 0) return verdict_equal;
  return difference <= allowed ? verdict_within : verdict_differs;
}

Count count_of(std::uint64_t footprint_bytes, double loads, double misses) {
  const double n = std::max(0.0, loads);
  return {static_cast<double>(footprint_bytes), static_cast<std::uint64_t>(n),
          static_cast<std::uint64_t>(std::clamp(misses, 0.0, n)), 0};
}

// The sizes that an estimate leaves possible.
Interval possible_bytes(const Estimate& e) {
  if (!e.has_value()) return {0, 0};
  if (e.status == Status::lower_bound) return {*e.value, std::numeric_limits<double>::infinity()};
  if (e.status == Status::upper_bound) return {0, *e.value};
  return e.interval.value_or(Interval{*e.value, *e.value});
}

// What both sources say of the size, by the inference that the size itself was found by.
void judge_size(const Subject& subject, const Counts& timing, const Counts& counter, CrossCheckReport& report) {
  constexpr std::size_t fewest_rows = 8;
  if (timing.size() < fewest_rows) return;
  Sweep sweep;
  sweep.line_bytes = static_cast<double>(subject.line_bytes);
  sweep.whole_laps = subject.tolerance == 0;  // else samples
  sweep.contamination = subject.contamination;
  sweep.own_lines = true;
  const Estimate by_timing = capacity_estimate(capacity_posterior(timing, sweep), "misses");
  const Estimate by_counter = capacity_estimate(capacity_posterior(counter, sweep), "misses");
  if (!by_timing.has_value() && !by_counter.has_value()) return;
  CrossCheck entry;
  entry.memory = subject.memory;
  entry.metric = fmt::format("{}{}", check_of_size, subject.metrics.misses);
  entry.by_timing = by_timing.value.value_or(0);
  entry.by_counter = by_counter.value.value_or(0);
  entry.size_bytes = static_cast<std::uint64_t>(entry.by_timing);
  entry.loads = by_timing.samples;
  const double apart = std::fabs(entry.by_timing - entry.by_counter);
  // Bounds of one size may differ.
  const Interval timed = possible_bytes(by_timing), counted = possible_bytes(by_counter);
  const auto line = static_cast<double>(subject.line_bytes);
  const bool may_be_same = timed.low <= counted.high + line && counted.low <= timed.high + line;
  const bool is_equal = apart == 0 && by_timing.status == by_counter.status;
  entry.verdict = is_equal ? verdict_equal : may_be_same ? verdict_within : verdict_differs;
  report.entries.push_back(std::move(entry));
}

}  // namespace

void judge(const Subject& subject, const std::vector<CountedRun>& runs, CrossCheckReport& report) {
  auto bases = bases_of(subject, runs, report);
  Counts timing_curve, counter_curve;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const PlannedCheck& planned = subject.plan[i];
    if (planned.empty) continue;
    const Base base = bases[key_of(planned)];
    const Timed t = timed(planned, runs[i], subject.threshold_cycles);
    CrossCheck entry;
    entry.memory = subject.memory;
    entry.size_bytes = planned.footprint_bytes;
    entry.loads = t.asked;
    entry.carve_out_percent = planned.carve_out_percent;
    if (planned.shape != Shape::measured) {
      entry.metric = subject.metrics.misses;
      entry.by_timing = static_cast<double>(t.misses) * subject.units_a_miss;
      entry.by_counter = runs[i].values[1] - base.misses;
      const double allowed = subject.tolerance * static_cast<double>(t.asked) * subject.units_a_miss +
                             subject.own_misses_a_lap * static_cast<double>(t.laps);
      entry.verdict = verdict_of(entry.by_timing, entry.by_counter, allowed);
      report.entries.push_back(entry);
      if (planned.carve_out_percent == 0 && subject.memory != "device_memory") {
        // The first lap of a cache that starts empty misses at any footprint, and says nothing about its size.
        const bool is_cold = planned.shape == Shape::recorded;
        double cold = is_cold ? static_cast<double>(t.lines) : 0;
        double loads = static_cast<double>(t.asked) - cold;
        if (planned.warm_phases != 0) {
          cold = static_cast<double>(t.warm_misses);
          loads = static_cast<double>(t.asked - t.warm_loads);
        }
        const double unit = subject.units_a_miss;
        timing_curve.push_back(count_of(planned.footprint_bytes, loads, entry.by_timing / unit - cold));
        counter_curve.push_back(count_of(planned.footprint_bytes, loads, entry.by_counter / unit - cold));
      }
    }
    if (subject.metrics.loads.empty()) continue;
    entry.metric = fmt::format("{}{}", check_of_loads, subject.metrics.loads);
    entry.by_timing = static_cast<double>(t.asked);
    entry.by_counter = runs[i].values[0] - base.loads;
    entry.verdict = verdict_of(entry.by_timing, entry.by_counter, 0);
    report.entries.push_back(std::move(entry));
  }
  judge_size(subject, timing_curve, counter_curve, report);
}

namespace {

std::string_view attribute_of(const CrossCheck& entry) {
  const bool is_of_slices = entry.metric.starts_with(check_of_slices) || entry.metric.starts_with(check_of_slice_count);
  return is_of_slices ? "slices" : "size";
}

std::string worst_of(const std::vector<CrossCheck>& entries, std::string_view memory, std::string_view attribute = {}) {
  std::string worst;
  for (const CrossCheck& entry : entries) {
    if (entry.memory != memory || worst == verdict_differs) continue;
    if (!attribute.empty() && attribute_of(entry) != attribute) continue;
    if (worst.empty() || entry.verdict != verdict_equal) worst = entry.verdict;
  }
  return worst;
}

void contradict(Estimate& estimate, const std::vector<CrossCheck>& entries, std::string_view memory,
                std::string_view attribute) {
  std::size_t all = 0;
  std::size_t failed = 0;
  const CrossCheck* first = nullptr;
  for (const CrossCheck& entry : entries) {
    if (entry.memory != memory || attribute_of(entry) != attribute) continue;
    ++all;
    if (entry.verdict != verdict_differs) continue;
    ++failed;
    if (first == nullptr) first = &entry;
  }
  std::string was = "nothing";
  if (estimate.has_value())
    was = fmt::format("{:.0f}{}{}", *estimate.value, estimate.unit.empty() ? "" : " ", estimate.unit);
  const std::string where = first->size_bytes == 0 ? "" : fmt::format(" at {} B", first->size_bytes);
  estimate.note =
      fmt::format("timing said {}, but {} of {} checks against counters fail, first{}: {:.0f} by timing, {:.0f} by {}",
                  was, failed, all, where, first->by_timing, first->by_counter, first->metric);
  estimate.status = Status::inconclusive;
  estimate.value.reset();
  estimate.interval.reset();
  estimate.confidence.reset();
}

}  // namespace

std::string CrossCheckReport::verdict(std::string_view memory) const {
  return worst_of(entries, memory);
}

void apply(const CrossCheckReport& report, Topology& topology) {
  topology.crosscheck = report.entries;
  for (const std::string& note : report.notes) topology.provenance.notes.push_back(note);
  for (Memory& memory : topology.memories)
    for (auto& [attribute, estimate] : memory.attributes) {
      const std::string verdict = worst_of(report.entries, memory.id, attribute);
      if (verdict == verdict_differs) {
        contradict(estimate, report.entries, memory.id, attribute);
      } else if (!verdict.empty() && estimate.has_value()) {
        if (!estimate.note.empty()) estimate.note += "; ";
        estimate.note += confirmed_by_counters;
      }
    }
}

}  // namespace gputopo::experiments
