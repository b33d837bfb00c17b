#include "device/cuda/results.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "device/cuda/interruptions.hpp"

namespace gputopo::device::cuda {
namespace {

using kernels::Result;
using program::LatencyCount;
using program::PhaseTrace;
using program::Record;
using program::Walk;

std::vector<LatencyCount> histogram_of(const Result& r) {
  std::vector<LatencyCount> histogram;
  // Nearly all bins are empty, and ten thousand results are read: a cache line at a time.
  constexpr std::uint32_t at_once = 16;
  static_assert(kernels::histogram_bins % at_once == 0);
  for (std::uint32_t first = 0; first < kernels::histogram_bins; first += at_once) {
    const std::uint32_t* bins = r.data + first;
    if (std::accumulate(bins, bins + at_once, 0U, std::bit_or<>()) == 0) continue;
    for (std::uint32_t i = 0; i < at_once; ++i)
      if (bins[i] != 0) histogram.push_back({first + i, bins[i]});
  }
  std::map<std::uint32_t, std::uint64_t> beyond;
  const std::uint32_t listed = std::min(r.overflow_count, kernels::overflow_entries);
  for (std::uint32_t i = 0; i < listed; ++i) ++beyond[r.overflow[i]];
  // More long latencies than there was room to list: they are counted at the first bin beyond the histogram.
  if (r.overflow_count > listed) beyond[kernels::histogram_bins] += r.overflow_count - listed;
  for (const auto& [cycles, count] : beyond) histogram.push_back({cycles, count});
  return histogram;
}

std::vector<std::uint32_t> latencies_of(const Result& r, std::uint64_t loads) {
  const auto* entries = reinterpret_cast<const std::uint16_t*>(r.data);
  return {entries, entries + loads};
}

PhaseTrace trace_of(const program::Phase& phase, const Result* result) {
  PhaseTrace trace;
  if (const auto* walk = std::get_if<Walk>(&phase)) {
    trace.loads = program::lap_loads(*walk) * walk->laps;
    if (result != nullptr && walk->record == Record::lap_time) trace.cycles = result->cycles;
    if (result != nullptr && walk->record == Record::lap_times)
      trace.lap_cycles.assign(result->data, result->data + walk->laps);
    if (result != nullptr && walk->record == Record::histogram) trace.histogram = histogram_of(*result);
    if (result != nullptr && walk->record == Record::latencies)
      trace.latencies = latencies_of(*result, program::lap_loads(*walk));
  } else if (result != nullptr && std::get<program::Execute>(phase).timed) {
    trace.loads = result->loads;
    trace.latencies = latencies_of(*result, trace.loads);
    trace.cycles = std::accumulate(trace.latencies.begin(), trace.latencies.end(), std::uint64_t{0});
  }
  return trace;
}

bool records(const program::Phase& phase) {
  const auto* walk = std::get_if<Walk>(&phase);
  return walk == nullptr || walk->record != Record::nothing;
}

Stint stint_of(const Result& r) {
  return {r.sm, r.begin_ns, r.end_ns, r.begin_clock, r.end_clock};
}

void note_interruptions(const PlannedLaunch& launch, const std::map<std::size_t, std::vector<Stint>>& stints,
                        const LaunchRecord& record, std::vector<program::ProgramTrace>& traces) {
  const bool all_listed = record.gaps.size() == record.state->gap_count;
  std::map<std::uint32_t, std::vector<kernels::Gap>> gaps;  // by SM
  for (const kernels::Gap& gap : record.gaps) gaps[gap.sm].push_back(gap);
  for (const std::size_t p : launch.programs) {
    const auto own = stints.find(p);
    if (own == stints.end()) continue;
    std::vector<kernels::Gap> seen;
    std::set<std::uint32_t> sms;
    for (const Stint& stint : own->second)
      if (const auto found = gaps.find(stint.sm); sms.insert(stint.sm).second && found != gaps.end())
        seen.insert(seen.end(), found->second.begin(), found->second.end());
    traces[p].interruptions = interruptions_of(own->second, seen);
    // What wasn't listed may have hit any program.
    if (!all_listed) traces[p].interruptions.switches = std::max(1U, traces[p].interruptions.switches);
  }
}

}  // namespace

ResultSlots assign_results(const program::Batch& batch, const PlannedLaunch& launch) {
  ResultSlots slots;
  slots.of_phase.resize(launch.phases.size());
  std::set<std::array<std::size_t, 3>> ended;  // program, SM, module
  std::vector<bool> reports(launch.phases.size());
  for (std::size_t i = launch.phases.size(); i-- > 0;) {
    const PlannedPhase& planned = launch.phases[i];
    const bool last = ended.insert({planned.program, planned.sm, planned.module}).second;
    reports[i] = last || records(batch[planned.program].phases[planned.phase]);
  }
  for (std::size_t i = 0; i < reports.size(); ++i)
    if (reports[i]) slots.of_phase[i] = slots.count++;
  return slots;
}

std::vector<std::size_t> read_results(const program::Batch& batch, const PlannedLaunch& launch,
                                      const ResultSlots& slots, const LaunchRecord& record,
                                      std::vector<program::ProgramTrace>& traces) {
  std::set<std::size_t> missing;
  std::map<std::size_t, std::vector<Stint>> stints;  // by program
  for (const std::size_t p : launch.programs) {
    traces[p].phases.assign(batch[p].phases.size(), {});
    traces[p].agent_sms.assign(batch[p].agents.size(), 0);
  }
  for (std::size_t i = 0; i < launch.phases.size(); ++i) {
    const PlannedPhase& planned = launch.phases[i];
    const Result* result = slots.of_phase[i] ? &record.results[*slots.of_phase[i]] : nullptr;
    if (result != nullptr && (result->done == 0 || result->sm != planned.sm)) missing.insert(planned.program);
    if (result != nullptr) stints[planned.program].push_back(stint_of(*result));
    const program::Phase& phase = batch[planned.program].phases[planned.phase];
    traces[planned.program].phases[planned.phase] = trace_of(phase, result);
    traces[planned.program].agent_sms[agent_of(phase)] = planned.sm;
  }
  note_interruptions(launch, stints, record, traces);
  return {missing.begin(), missing.end()};
}

}  // namespace gputopo::device::cuda
