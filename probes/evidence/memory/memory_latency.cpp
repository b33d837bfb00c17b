#include "evidence/memory/memory_latency.hpp"

#include "evidence/inference/curves.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/looks/latency.hpp"

namespace gputopo::evidence {

void state_memory_latency(Session& session, Findings& findings, std::vector<double> by_line, std::uint64_t samples) {
  constexpr std::string_view method = "line_quartiles";
  const double overhead_cycles = findings.caches["device_memory"].overhead_cycles;
  Estimate& stated = findings.memory("device_memory").attributes["latency"];
  Estimate latency = without_clock(mean_estimate(by_line, "cycles", method), overhead_cycles);
  latency.samples = samples;
  if (stated.status == Status::lower_bound)
    bound_below(latency, stated.note);
  else if (findings.memory_in_open_rows)
    bound_below(latency, in_open_rows);
  stated = latency;
  for (double& cycles : by_line) cycles -= overhead_cycles;
  session.keep(numbers_curve("device_memory", "latency", {"latency without the clock", "cycles", false}, "lines",
                             std::move(by_line), latency));
}

}  // namespace gputopo::evidence
