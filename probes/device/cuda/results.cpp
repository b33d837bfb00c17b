#include "device/cuda/results.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace gputopo::device::cuda {
namespace {

using kernels::Result;
using program::LatencyCount;
using program::PhaseTrace;
using program::Record;
using program::Walk;

std::vector<LatencyCount> histogram_of(const Result& r) {
  std::vector<LatencyCount> histogram;
  for (std::uint32_t cycles = 0; cycles < kernels::histogram_bins; ++cycles)
    if (r.data[cycles] != 0) histogram.push_back({cycles, r.data[cycles]});
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
    if (result != nullptr && walk->record == Record::histogram) trace.histogram = histogram_of(*result);
    if (result != nullptr && walk->record == Record::latencies)
      trace.latencies = latencies_of(*result, program::lap_loads(*walk));
  } else if (result != nullptr && std::get<program::Execute>(phase).timed) {
    trace.cycles = result->cycles;
  }
  return trace;
}

std::uint32_t agent_of(const program::Phase& phase) {
  return std::visit([](const auto& p) { return p.agent; }, phase);
}

}  // namespace

std::vector<std::size_t> read_results(const program::Batch& batch, const PlannedLaunch& launch,
                                      const std::vector<std::size_t>& result_of, const Result* results,
                                      std::vector<program::ProgramTrace>& traces) {
  std::set<std::size_t> missing;
  for (const std::size_t p : launch.programs) {
    traces[p].phases.assign(batch[p].phases.size(), {});
    traces[p].agent_sms.assign(batch[p].agents.size(), 0);
  }
  for (std::size_t i = 0; i < launch.phases.size(); ++i) {
    const PlannedPhase& planned = launch.phases[i];
    const bool reports = result_of[i] != std::numeric_limits<std::size_t>::max();
    const Result* result = reports ? &results[result_of[i]] : nullptr;
    if (reports && (result->done == 0 || result->sm != planned.sm)) missing.insert(planned.program);
    const program::Phase& phase = batch[planned.program].phases[planned.phase];
    traces[planned.program].phases[planned.phase] = trace_of(phase, result);
    traces[planned.program].agent_sms[agent_of(phase)] = planned.sm;
  }
  return {missing.begin(), missing.end()};
}

}  // namespace gputopo::device::cuda
