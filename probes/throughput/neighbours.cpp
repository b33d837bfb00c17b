#include "throughput/neighbours.hpp"

namespace gputopo::throughput {
namespace {

constexpr std::string_view interrupted = "another process had the GPU in between; measure again when it is idle";

// 5 to 10 ms, where slices take 2.
program::Program long_walk() {
  program::Walk walk;
  walk.footprint_bytes = 16384;
  walk.stride_bytes = 64;
  walk.laps = 700;
  program::Program p;
  p.label = "is there a neighbour";
  p.buffers = {{program::Space::global, walk.footprint_bytes, 0}};
  p.phases = {walk};
  return p;
}

bool is_rate(const Estimate& e) {
  return e.unit == "B/s" || e.unit == "B/cycle" || e.unit == "1/cycle";
}

}  // namespace

bool has_neighbour(device::Device& device) {
  const auto traces = device.run({long_walk()});
  return traces && traces->front().interruptions.switches != 0;
}

void bound_beside_neighbour(Result& result) {
  for (Finding& finding : result.findings) {
    Estimate& e = finding.estimate;
    if (e.status != Status::measured) continue;
    e.status = is_rate(e) ? Status::lower_bound : Status::inconclusive;
    e.note = interrupted;
    // The middle of the runs: the fastest of them are above it on an idle GPU as well.
    if (!is_rate(e)) e.value.reset();
    e.interval.reset();
  }
  result.notes.emplace_back(interrupted);
}

}  // namespace gputopo::throughput
