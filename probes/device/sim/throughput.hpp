// How many bytes a modelled GPU moves: what the simulator needs to run stream programs. Optional in a model.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

namespace gputopo::sim {

/// What one memory delivers at its best. Rates are bytes a cycle and SM for memories of an SM ("l1", "texture",
/// "constant_l1", "constant_l1_5", "shared"), 10^9 bytes a second of the whole GPU for "l2" and "device_memory"; 0
/// where the model doesn't say.
struct LevelThroughput {
  double read = 0;
  double write = 0;
  double copy = 0;                    ///< bytes read and written together
  double read_same = 0;               ///< all SMs read the same bytes; `read` where that is 0
  double accesses = 0;                ///< of warps, a cycle and SM; 0: no limit
  std::uint64_t in_flight_bytes = 0;  ///< that one SM can wait for; 0: no limit
};

/// Shared memory is interleaved over banks of words: lanes that want different words of one bank take turns.
struct BankModel {
  std::uint32_t count = 32;
  std::uint32_t bytes = 4;
  double conflict_cycles = 1;  ///< for every turn more than the bytes need anyway
};

/// Atomic additions of single lanes a cycle: of the GPU in global memory, of an SM in shared memory. 0: no limit.
struct AtomicThroughput {
  double address = 0;  ///< to one address
  double line = 0;     ///< to one line of 128 bytes
  double spread = 0;   ///< to as many addresses as there are
};

enum class AtomicKind { global_add, global_fetch, shared_add, shared_fetch };
inline constexpr std::size_t atomic_kinds = 4;

struct ThroughputModel {
  std::map<std::string, LevelThroughput, std::less<>> levels;  ///< by a memory's id, as in results
  BankModel banks;
  double request_lines = 0;  ///< lines that one access of a warp may touch at full rate; 0: no limit
  std::array<AtomicThroughput, atomic_kinds> atomics{};
  std::array<bool, atomic_kinds> has_atomics{};
  double noise = 0;  ///< standard deviation of a run's time, as a share of it
};

}  // namespace gputopo::sim
