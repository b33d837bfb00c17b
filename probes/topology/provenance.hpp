// How and under which conditions a topology came about.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gputopo {

/// What disturbed the measurement, and what was done about it. Absent from a topology whose device can't see it.
struct Interruptions {
  std::uint64_t switches = 0;   ///< times the GPU left our work for somebody else's, seen by its timer
  double away_ms = 0;           ///< how long it was away in all, milliseconds
  std::uint64_t programs = 0;   ///< programs that were run, each counted once
  std::uint64_t repeated = 0;   ///< of these, programs that were run again because something disturbed them
  std::uint64_t undecided = 0;  ///< of these, programs that were disturbed however often they were run
  friend bool operator==(const Interruptions&, const Interruptions&) = default;
};

struct Provenance {
  std::string tool_name = "gputopo";
  std::string tool_version;
  std::string created;  ///< RFC 3339, UTC
  std::string device;   ///< "cuda", "sim" or "replay"
  bool simulated = false;
  std::string driver_version;  ///< of the NVIDIA kernel driver, empty for a simulated GPU
  std::uint64_t seed = 0;
  std::string method;                                       ///< "default" or "thesis"
  double duration_s = 0;                                    ///< whole discovery, wall clock
  std::vector<std::pair<std::string, double>> breakdown_s;  ///< where the time went, in order, seconds
  std::vector<std::string> notes;              ///< conditions that weaken the result: contention, throttling
  std::optional<Interruptions> interruptions;  ///< nothing where the device can't tell
  std::string shared_gpu;                      ///< one sentence on who else used the GPU; empty where nobody was seen
  std::string kernels;  ///< what a real GPU ran: "machine_code" by nvcc, or "ptx" that its driver assembled
  friend bool operator==(const Provenance&, const Provenance&) = default;
};

/// The time of day as `created` has it: "2026-01-02T03:04:05Z".
std::string rfc3339_now();

/// Whether anybody else was seen to use the GPU while it was measured.
bool was_shared(const Provenance& provenance);

}  // namespace gputopo
