#include "device/replay/trace_check.hpp"

#include <optional>

#include <fmt/format.h>

namespace gputopo::replay {
namespace {

using program::Execute;
using program::Phase;
using program::PhaseTrace;
using program::Program;
using program::ProgramTrace;
using program::Record;
using program::Walk;

tl::unexpected<Error> bad(std::size_t phase, const std::string& what) {
  return fail(Error::Kind::bad_input, fmt::format("has a phase {} with {}", phase, what));
}

// Of `loads`, those that a histogram doesn't count; nothing where it has empty bins or counts more.
std::optional<std::uint64_t> uncounted(const PhaseTrace& trace, std::uint64_t loads) {
  for (const auto& bin : trace.histogram) {
    if (bin.count == 0 || bin.count > loads) return std::nullopt;
    loads -= bin.count;
  }
  return loads;
}

// How much of each kind a phase must hold.
struct Expectation {
  std::uint64_t loads = 0;
  bool histogram = false;
  std::uint64_t lead = 0;  // loads that the histogram leaves out
  std::size_t latencies = 0;
  std::size_t laps = 0;
};

// Of timed code as many units as came back: what a unit is the device says, not the program.
Expectation expectation_of(const Phase& phase, const PhaseTrace& trace) {
  const auto* walk = std::get_if<Walk>(&phase);
  if (walk == nullptr) {
    const auto& execute = std::get<Execute>(phase);
    const bool is_whole = execute.timed && execute.laps != 0 && trace.loads % execute.laps == 0;
    return {0, false, 0, is_whole ? trace.loads : 0, 0};
  }
  const std::uint64_t lap = program::lap_loads(*walk);
  return {lap * walk->laps, walk->record == Record::histogram, walk->lead_loads * walk->laps,
          walk->record == Record::latencies ? lap : 0, walk->record == Record::lap_times ? walk->laps : 0};
}

}  // namespace

Expected<void> check_consistent(const ProgramTrace& trace) {
  for (std::size_t i = 0; i < trace.phases.size(); ++i) {
    const PhaseTrace& phase = trace.phases[i];
    const int kinds =
        (phase.histogram.empty() ? 0 : 1) + (phase.latencies.empty() ? 0 : 1) + (phase.lap_cycles.empty() ? 0 : 1);
    if (kinds > 1) return bad(i, "several kinds of record");
    if (!phase.histogram.empty() && uncounted(phase, phase.loads).value_or(phase.loads) == phase.loads)
      return bad(i, fmt::format("a histogram of more than its {} loads", phase.loads));
    if (!phase.latencies.empty() && phase.loads % phase.latencies.size() != 0)
      return bad(i, fmt::format("{} latencies, which are no lap of its {} loads", phase.latencies.size(), phase.loads));
    if (!phase.lap_cycles.empty() && phase.loads % phase.lap_cycles.size() != 0)
      return bad(i, fmt::format("{} laps, which don't divide its {} loads", phase.lap_cycles.size(), phase.loads));
  }
  return {};
}

Expected<void> check_against(const ProgramTrace& trace, const Program& program) {
  if (trace.phases.size() != program.phases.size() || trace.agent_sms.size() != program.agents.size())
    return fail(Error::Kind::bad_input,
                fmt::format("has another shape than the program: {} phases for {}, {} SMs for {} agents",
                            trace.phases.size(), program.phases.size(), trace.agent_sms.size(), program.agents.size()));
  for (std::size_t i = 0; i < trace.phases.size(); ++i) {
    const PhaseTrace& phase = trace.phases[i];
    const Expectation expected = expectation_of(program.phases[i], phase);
    if (std::holds_alternative<Walk>(program.phases[i]) && phase.loads != expected.loads)
      return bad(i, fmt::format("{} loads, the program makes {}", phase.loads, expected.loads));
    if (expected.histogram ? uncounted(phase, expected.loads) != expected.lead : !phase.histogram.empty())
      return bad(i, expected.histogram
                        ? fmt::format("a histogram of other than its {} loads", expected.loads - expected.lead)
                        : "a histogram that the program doesn't record");
    if (phase.latencies.size() != expected.latencies)
      return bad(i, fmt::format("{} latencies, the program records {}", phase.latencies.size(), expected.latencies));
    if (phase.lap_cycles.size() != expected.laps)
      return bad(i,
                 fmt::format("the times of {} laps, the program records {}", phase.lap_cycles.size(), expected.laps));
  }
  return {};
}

}  // namespace gputopo::replay
