// Runs a stream program against a model: no loads are walked, the time follows from what is scarce.
#pragma once

#include <cstdint>

#include "device/sim/model.hpp"
#include "error/error.hpp"
#include "program/stream.hpp"

namespace gputopo::sim {

/// The memory that serves a stream after its first lap: the first on its path that holds what reaches it.
struct Served {
  std::string_view id;        ///< "l1", "texture", "constant_l1", "constant_l1_5", "l2", "device_memory" or "shared"
  double latency_cycles = 0;  ///< of a load there
  bool beyond_sms = false;    ///< its rates are the GPU's, 10^9 bytes a second
  std::uint64_t line_bytes = 128;  ///< of the first cache on the path
};

/// Errors: `unavailable` where the GPU has no such path.
Expected<Served> serve(const Model& model, const program::Stream& stream);

/// SM cycles of one access of a warp to shared memory: its bytes at the rate, and a turn for every conflict more.
double shared_access_cycles(const ThroughputModel& model, const program::Stream& stream, double rate);

/// Lines of `line_bytes` that one access of a warp touches.
std::uint64_t lines_touched(const program::Stream& stream, std::uint64_t line_bytes);

/// SM cycles of all atomic additions of a stream.
double atomic_cycles(const AtomicThroughput& rates, const program::Stream& stream, std::uint32_t sms);

/// The stream's time is the longest of: bytes over the level's rate, accesses over theirs, banks' turns, additions, and
/// Little's law (bytes read, times the latency, over bytes in flight); times the lines that an access touches in excess
/// of the model's requests. `run` seeds its noise. `unavailable` where the model doesn't say what that takes.
Expected<program::StreamTrace> run_stream(const Model& model, const program::Stream& stream, std::uint64_t run);

}  // namespace gputopo::sim
