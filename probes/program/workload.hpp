// The third kind of program: one of the library's kernels by its name, with a few numbers. Plain data.
//
// A chase tells latency and presence, a stream how fast bytes move. A workload is for what is neither: instructions,
// barriers, clusters, and whole small programs whose traffic or time is predicted. kernels/work.cu says what the
// numbers mean to each kernel.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "error/error.hpp"

namespace gputopo::program {

inline constexpr std::size_t most_workload_words = std::size_t{1} << 19U;

struct Workload {
  std::string label;   ///< for error messages and recordings
  std::string kernel;  ///< as in kernels/work.cu without "work_": "product", "chain_float_add_1"
  std::uint32_t threads = 256;
  std::uint32_t blocks = 1;
  std::uint64_t shared_bytes = 0;               ///< that each block asks for
  std::array<std::uint64_t, 4> numbers{};       ///< what they mean is the kernel's
  std::array<std::uint64_t, 3> buffer_bytes{};  ///< cleared when made; afterwards they keep what kernels leave there
  std::vector<std::uint32_t> input;             ///< words for the kernel to read
  std::uint32_t output_words = 0;               ///< that it writes
  bool timed = true;                            ///< each block keeps its times
  std::uint32_t fetch_bytes = 0;                ///< that the L2 may fetch from memory at once; 0: as the driver has it
  friend bool operator==(const Workload&, const Workload&) = default;
};

/// Bytes that the device memory gave and took.
struct MemoryTraffic {
  double read = 0;
  double written = 0;
  friend bool operator==(const MemoryTraffic&, const MemoryTraffic&) = default;
};

/// What a workload gave.
struct WorkloadTrace {
  std::uint64_t cycles = 0;       ///< SM cycles from an SM's first start to its last end, mean over SMs; 0: not timed
  std::uint64_t ns = 0;           ///< from the first block's start to the last one's end; 0: not timed
  std::uint32_t sms = 0;          ///< that took part; 0: not timed
  std::uint32_t local_bytes = 0;  ///< of a thread's local memory, by the compiler: what its registers didn't hold
  std::uint32_t registers = 0;    ///< of a thread, by the compiler
  std::vector<std::uint32_t> output;
  std::optional<MemoryTraffic> traffic;  ///< of a simulated GPU, which knows it; a real one's counters tell
  friend bool operator==(const WorkloadTrace&, const WorkloadTrace&) = default;
};

/// `bad_input` where a kernel's name, a grid or a buffer can't be.
Expected<void> validate(const Workload& workload);

/// A hash of everything in a workload but its label: the key of a recording.
std::uint64_t hash(const Workload& workload);

}  // namespace gputopo::program
