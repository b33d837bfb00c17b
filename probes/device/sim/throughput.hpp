// How many bytes a modelled GPU moves: what the simulator needs to run stream programs. Optional in a model.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
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

/// Instructions of one class: cycles until a result is there, and how many warps' instructions an SM begins in a cycle.
struct InstructionModel {
  double latency_cycles = 0;
  double rate = 0;
};

/// What isn't arithmetic.
struct ControlModel {
  double barrier_cycles = 0, barrier_warp_cycles = 0;  ///< of a block's barrier: by itself, and for each of its warps
  double divergence_cycles = 0;                        ///< for each path of a warp but the first
  std::uint32_t clock_cycles = 1, timer_ns = 1;        ///< steps of the clocks
};

/// Words of a thread: those that the compiler holds in registers, those up to which no round has to reload any, and
/// what each further one costs, as a share of the round.
struct RegisterModel {
  std::uint32_t held = 0, free = 0;
  double cost = 0;
};

/// Shared memory by way of a cluster.
struct ClusterModel {
  std::uint32_t largest = 8;
  double own_latency_cycles = 0, latency_cycles = 0;
  double own_read = 0, read = 0;  ///< B a cycle and SM
};

/// Of an L2 with two sides, 10^9 B a second of the whole GPU by whose lines are asked for, and how much longer far ones
/// take.
struct SidesModel {
  double near_read = 0, far_read = 0, near_write = 0, far_write = 0;
  double far_cycles = 0;
};

struct ThroughputModel {
  std::map<std::string, LevelThroughput, std::less<>> levels;  ///< by a memory's id, as in results
  BankModel banks;
  double request_lines = 0;  ///< lines that one access of a warp may touch at full rate; 0: no limit
  std::array<AtomicThroughput, atomic_kinds> atomics{};
  std::array<bool, atomic_kinds> has_atomics{};
  std::map<std::string, InstructionModel, std::less<>> instructions;
  std::optional<ControlModel> control;
  std::optional<RegisterModel> registers;
  std::optional<ClusterModel> cluster;
  std::optional<SidesModel> sides;
  /// Of the L2, which carry out atomics at the same time; lines of 128 B are spread over them by a hash. 0:
  /// not known.
  std::uint32_t slices = 0;
  double noise = 0;  ///< standard deviation of a run's time, as a share of it
};

}  // namespace gputopo::sim
