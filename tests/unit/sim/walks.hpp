// Helpers of the simulator's tests: programs in few words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "device/sim/model.hpp"
#include "device/sim/sim_device.hpp"

namespace gputopo::sim {

using program::Path;
using program::Record;

/// A model from its text; fails the test and ends it by throwing where the text is refused.
inline Model model_of(std::string_view text) {
  auto model = parse_model(text, "test");
  if (!model) throw std::runtime_error(model.error().message);
  return *model;
}

inline program::Walk walk(Path path, std::uint64_t footprint_bytes, std::uint64_t stride_bytes, Record record,
                          std::uint32_t laps = 1) {
  program::Walk w;
  w.path = path;
  w.footprint_bytes = footprint_bytes;
  w.stride_bytes = stride_bytes;
  w.record = record;
  w.laps = laps;
  return w;
}

/// A program over one buffer that every phase's path fits.
inline program::Program program_of(std::vector<program::Phase> phases, std::uint64_t bytes,
                                   program::Space space = program::Space::global) {
  program::Program p;
  p.label = "test";
  p.buffers = {{space, bytes, 0}};
  p.phases = std::move(phases);
  return p;
}

inline program::ProgramTrace run_one(device::Device& device, const program::Program& p) {
  auto traces = device.run({p});
  if (!traces) throw std::runtime_error(traces.error().message);
  return traces->front();
}

/// Loads of a histogram above a latency.
inline std::uint64_t above(const program::PhaseTrace& trace, double latency_cycles) {
  std::uint64_t count = 0;
  for (const auto& bin : trace.histogram)
    if (bin.latency_cycles > latency_cycles) count += bin.count;
  return count;
}

}  // namespace gputopo::sim
