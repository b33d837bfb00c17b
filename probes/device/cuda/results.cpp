#include "device/cuda/results.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include "device/cuda/interruptions.hpp"

namespace gputopo::device::cuda {
namespace {

using kernels::Result;
using program::LatencyCount;
using program::PhaseTrace;
using program::Record;
using program::Walk;

std::uint64_t recorded_loads(const Walk& walk) {
  return program::lap_loads(walk) - walk.lead_loads;
}

using Bins = std::array<std::uint32_t, kernels::histogram_bins>;

void add_beyond(std::vector<LatencyCount>& histogram, const std::map<std::uint32_t, std::uint64_t>& beyond) {
  for (const auto& [cycles, count] : beyond) histogram.push_back({cycles, count});
}

std::vector<LatencyCount> histogram_of(const Result& r) {
  std::vector<LatencyCount> histogram;
  // Nearly all bins are empty: a cache line at a time.
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
  add_beyond(histogram, beyond);
  return histogram;
}

std::span<const std::uint16_t> latencies_of(const Result& r, std::uint64_t loads) {
  return {reinterpret_cast<const std::uint16_t*>(r.data), loads};
}

// `bins` are all empty, before and after.
std::vector<LatencyCount> histogram_of(std::span<const std::uint16_t> latencies, Bins& bins) {
  std::vector<std::uint32_t> occurred;
  std::map<std::uint32_t, std::uint64_t> beyond;
  for (const std::uint16_t cycles : latencies) {
    if (cycles >= kernels::histogram_bins)
      ++beyond[cycles];
    else if (bins[cycles]++ == 0)
      occurred.push_back(cycles);
  }
  std::sort(occurred.begin(), occurred.end());
  std::vector<LatencyCount> histogram;
  histogram.reserve(occurred.size() + beyond.size());
  for (const std::uint32_t cycles : occurred) histogram.push_back({cycles, std::exchange(bins[cycles], 0)});
  add_beyond(histogram, beyond);
  return histogram;
}

PhaseTrace trace_of(const program::Phase& phase, const Result* result, Bins& bins) {
  PhaseTrace trace;
  const auto list = [](std::span<const std::uint16_t> latencies) {
    return std::vector<std::uint32_t>(latencies.begin(), latencies.end());
  };
  if (const auto* walk = std::get_if<Walk>(&phase)) {
    trace.loads = program::lap_loads(*walk) * walk->laps;
    if (result == nullptr) return trace;
    if (walk->record == Record::lap_time) trace.cycles = result->cycles;
    if (walk->record == Record::lap_times) trace.lap_cycles.assign(result->data, result->data + walk->laps);
    if (walk->record == Record::histogram)
      trace.histogram = recorded_as(*walk) == Record::histogram
                            ? histogram_of(*result)
                            : histogram_of(latencies_of(*result, recorded_loads(*walk)), bins);
    if (walk->record == Record::latencies) trace.latencies = list(latencies_of(*result, recorded_loads(*walk)));
  } else if (result != nullptr && std::get<program::Execute>(phase).timed) {
    trace.loads = result->loads;
    trace.latencies = list(latencies_of(*result, trace.loads));
    trace.cycles = std::accumulate(trace.latencies.begin(), trace.latencies.end(), std::uint64_t{0});
  }
  return trace;
}

const program::Phase& phase_of(const program::Batch& batch, const PlannedPhase& planned) {
  return batch[planned.program].phases[planned.phase];
}

// What the kernel writes of a Result (quads_of in chase.cu, write_code_result in code.cu).
std::size_t bytes_of(const program::Phase& phase, Kernel kernel) {
  constexpr std::size_t head = offsetof(Result, data);
  const auto* walk = std::get_if<Walk>(&phase);
  if (walk == nullptr) return std::get<program::Execute>(phase).timed ? sizeof(Result) : head;
  const Record record = recorded_as(*walk);
  if (record == Record::nothing || record == Record::lap_time) return head;
  const bool are_few = record == Record::latencies && !walks_code(kernel);
  if (!are_few) return sizeof(Result);
  using namespace kernels;
  return head + (recorded_loads(*walk) + latencies_a_quad - 1) / latencies_a_quad * quad_bytes;
}

bool records(const program::Phase& phase) {
  const auto* walk = std::get_if<Walk>(&phase);
  return walk == nullptr || walk->record != Record::nothing;
}

Stint stint_of(const Result& r) {
  return {r.sm, r.begin_ns, r.end_ns, r.begin_clock, r.end_clock};
}

const Result* result_of(const LaunchRecord& record, const ResultSlots& slots, std::size_t slot) {
  const auto* first = reinterpret_cast<const std::byte*>(record.state + 1);
  return reinterpret_cast<const Result*>(first + slot * slots.row_bytes());
}

void note_interruptions(const PlannedLaunch& launch, const std::vector<std::vector<Stint>>& stints,
                        const LaunchRecord& record, std::vector<program::ProgramTrace>& traces) {
  const bool all_listed = record.gaps.size() == record.state->gap_count;
  std::map<std::uint32_t, std::vector<kernels::Gap>> gaps;  // by SM
  for (const kernels::Gap& gap : record.gaps) gaps[gap.sm].push_back(gap);
  for (const std::size_t p : launch.programs) {
    if (stints[p].empty()) continue;
    std::vector<kernels::Gap> seen;
    std::set<std::uint32_t> sms;
    for (const Stint& stint : stints[p])
      if (const auto found = gaps.find(stint.sm); sms.insert(stint.sm).second && found != gaps.end())
        seen.insert(seen.end(), found->second.begin(), found->second.end());
    traces[p].interruptions = interruptions_of(stints[p], seen);
    // What wasn't listed may have hit any program.
    if (!all_listed) traces[p].interruptions.switches = std::max(1U, traces[p].interruptions.switches);
  }
}

}  // namespace

Record recorded_as(const Walk& walk) {
  // As many as take the host as long to count as it takes to find which of all bins aren't empty.
  constexpr std::uint64_t few = 256;
  // The loop that lists latencies loads a constant of the kernel's own after every one of the walk's, and code has a
  // kernel that writes all bins at once.
  const bool can_list = walk.path != program::Path::constant && walk.path != program::Path::instruction;
  const bool are_few = walk.laps == 1 && recorded_loads(walk) <= few;
  return walk.record == Record::histogram && can_list && are_few ? Record::latencies : walk.record;
}

ResultSlots assign_results(const program::Batch& batch, const PlannedLaunch& launch) {
  ResultSlots slots;
  slots.of_phase.resize(launch.phases.size());
  std::set<std::array<std::size_t, 3>> ended;  // program, SM, module
  std::vector<bool> reports(launch.phases.size());
  for (std::size_t i = launch.phases.size(); i-- > 0;) {
    const PlannedPhase& planned = launch.phases[i];
    const bool last = ended.insert({planned.program, planned.sm, planned.module}).second;
    reports[i] = last || records(phase_of(batch, planned));
  }
  for (std::size_t i = 0; i < reports.size(); ++i)
    if (reports[i]) {
      slots.of_phase[i] = slots.count++;
      slots.most_bytes = std::max(slots.most_bytes, bytes_of(phase_of(batch, launch.phases[i]), launch.kernel));
    }
  return slots;
}

std::vector<std::size_t> read_results(const program::Batch& batch, const PlannedLaunch& launch,
                                      const ResultSlots& slots, const LaunchRecord& record,
                                      std::vector<program::ProgramTrace>& traces) {
  std::set<std::size_t> missing;
  std::vector<std::vector<Stint>> stints(batch.size());  // by program
  Bins bins{};
  for (const std::size_t p : launch.programs) {
    traces[p].phases.assign(batch[p].phases.size(), {});
    traces[p].agent_sms.assign(batch[p].agents.size(), 0);
  }
  for (std::size_t i = 0; i < launch.phases.size(); ++i) {
    const PlannedPhase& planned = launch.phases[i];
    const Result* result = slots.of_phase[i] ? result_of(record, slots, *slots.of_phase[i]) : nullptr;
    if (result != nullptr && (result->done == 0 || result->sm != planned.sm)) missing.insert(planned.program);
    if (result != nullptr) stints[planned.program].push_back(stint_of(*result));
    const program::Phase& phase = phase_of(batch, planned);
    traces[planned.program].phases[planned.phase] = trace_of(phase, result, bins);
    traces[planned.program].agent_sms[agent_of(phase)] = planned.sm;
  }
  note_interruptions(launch, stints, record, traces);
  return {missing.begin(), missing.end()};
}

}  // namespace gputopo::device::cuda
