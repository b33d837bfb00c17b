// The chase program: what a Device is asked to do, as plain data.
//
// A program is a list of phases that run strictly one after another. In a phase one agent (a thread on a chosen SM)
// walks one buffer by dependent loads, or executes straight-line code. A batch holds independent programs.
// The method is the fine-grained pointer chase (Größler, "Capturing the Memory Topology of GPUs", 2022, section 3.1.2).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "error/error.hpp"
#include "topology/topology.hpp"

namespace gputopo::program {

/// Where a buffer lives.
enum class Space {
  global,
  constant,
  shared,
  code,  ///< blocks of instructions, DeviceInfo::code_block_bytes each: a load is a jump to one, which leaves at once
};

/// Which kind of load (or store) a walk uses. The comment names the PTX.
enum class Path {
  global_cached,       ///< ld.global.ca: through L1 where the GPU caches global loads there
  global_l2_only,      ///< ld.global.cg
  global_no_allocate,  ///< ld.global.L1::no_allocate: looks in L1, leaves its contents alone
  read_only,           ///< ld.global.nc
  texture,             ///< tex.1d from a linear texture object
  constant,            ///< an indexed load from a constant bank
  shared,              ///< ld.shared
  instruction,         ///< brx.idx to a block of code: what a jump there and back takes
  /// st.global of a zero, as plain code stores: what every load that isn't a pointer chase finds there anyway. Never
  /// recorded: nothing waits for a store.
  global_store,
};

/// The order in which the loads of one lap visit the footprint (see order.hpp).
enum class Order {
  forward,
  reverse,
  shuffled,
  skipping,  ///< every `order_seed`-th position, round and round; coprime to the number of positions
};

/// What a walk reports.
enum class Record {
  nothing,
  /// Cycles of all timed laps together: pure dependent loads, each of which brings the next one's address. A device may
  /// read its clock now and then between loads, if what that takes isn't in the cycles.
  lap_time,
  histogram,  ///< how often each latency occurred (bins of one cycle), all laps
  latencies,  ///< every latency of the last lap, in walk order
  lap_times,  ///< cycles of every timed lap by itself, as lap_time: medians that slow strangers don't move
};

std::string_view to_string(Path path);
std::string_view to_string(Space space);
std::string_view to_string(Order order);
std::string_view to_string(Record record);

struct Buffer {
  Space space = Space::global;
  std::uint64_t size_bytes = 0;
  std::uint32_t module = 0;  ///< constant space only: which module's 64 KiB bank
  friend bool operator==(const Buffer&, const Buffer&) = default;
};

/// A thread on an SM. Agents of one program that name no SM share the one the device picks: SM 0 where other SMs
/// mustn't run programs meanwhile, else any.
struct Agent {
  std::optional<std::uint32_t> sm;  ///< SM id; absent: wherever the device puts the program
  std::uint32_t warp = 0;           ///< warp inside the block: chooses the warp scheduler
  friend bool operator==(const Agent&, const Agent&) = default;
};

/// `laps` laps of `loads_per_lap` loads at first_byte + position * stride_bytes.
struct Walk {
  std::uint32_t agent = 0;   ///< index into Program::agents
  std::uint32_t buffer = 0;  ///< index into Program::buffers
  Path path = Path::global_cached;
  std::uint64_t first_byte = 0;
  std::uint64_t footprint_bytes = 0;  ///< loads visit [first_byte, first_byte + footprint_bytes)
  std::uint64_t stride_bytes = 4;     ///< multiple of 4
  Order order = Order::forward;
  std::uint64_t order_seed = 0;  ///< of Order::shuffled; the step of Order::skipping
  /// 0: one for each position; fewer: the first of the order (a sample); more: round and round. What a kernel reads for
  /// itself it reads between laps, so the later rounds of a lap have the cache to themselves.
  std::uint64_t loads_per_lap = 0;
  std::uint64_t lead_loads = 0;  ///< so many loads aren't recorded; of Record::histogram and a single lap
  /// Where the recorded loads go after a lead: `tail_step` positions on each time from `tail_first`, round and round.
  /// 0: they go on as the lead did.
  std::uint64_t tail_first = 0, tail_step = 0;
  std::uint32_t laps = 1;
  /// Of Path::instruction: the agent runs no other code until its next phase's but a wait. Phases in between are of one
  /// agent on this SM (or this one itself), or of agents on other SMs, and walk over code, too, recording nothing. That
  /// next phase records a histogram; it and this one make one lap each.
  bool holds = false;
  std::uint32_t lanes = 1;  ///< threads that walk together (the phase's warp-up speed); 1 for everything recorded
  Record record = Record::nothing;
  friend bool operator==(const Walk&, const Walk&) = default;
};

/// The agent runs `laps` times through `code_bytes` of straight-line code: an instruction footprint.
struct Execute {
  std::uint32_t agent = 0;
  std::uint64_t code_bytes = 0;
  std::uint32_t laps = 1;
  bool timed = false;  ///< report what each unit of the code takes, of all laps; a device says how long units are
  friend bool operator==(const Execute&, const Execute&) = default;
};

using Phase = std::variant<Walk, Execute>;

/// Who runs a phase: an index into Program::agents.
inline std::uint32_t agent_of(const Phase& phase) {
  return std::visit([](const auto& p) { return p.agent; }, phase);
}

struct Program {
  std::string label;  ///< for error messages and recordings
  std::vector<Buffer> buffers;
  std::vector<Agent> agents{Agent{}};
  std::vector<Phase> phases;
  std::uint32_t carve_out_percent = 0;  ///< shared-memory carve-out to ask for, 0 to 100 percent of the largest
  /// Programs may run at once only on different instances of this scope: `sm` for SM-private caches, `gpu` where
  /// the whole chip must be quiet.
  Scope isolation = Scope::sm;
  bool asks_address = false;  ///< of the buffer that the first phase walks, in global memory
  friend bool operator==(const Program&, const Program&) = default;
};

using Batch = std::vector<Program>;

/// A latency in cycles and how often it occurred.
struct LatencyCount {
  std::uint32_t latency_cycles = 0;
  std::uint64_t count = 0;
  friend bool operator==(const LatencyCount&, const LatencyCount&) = default;
};

/// What one phase gave. Latencies include the clock pair's cost unless they come from `lap_time` or `lap_times`.
struct PhaseTrace {
  std::uint64_t loads = 0;                ///< loads issued by the phase, all laps and lanes; units of timed code
  std::uint64_t cycles = 0;               ///< of the recorded laps, for lap_time and timed Execute
  std::vector<std::uint32_t> latencies;   ///< Record::latencies: cycles, walk order; of timed Execute every unit's
  std::vector<std::uint64_t> lap_cycles;  ///< Record::lap_times: cycles of each lap, in order
  std::vector<LatencyCount> histogram;    ///< Record::histogram: ascending latencies
  friend bool operator==(const PhaseTrace&, const PhaseTrace&) = default;
};

/// What took the GPU away from a program while it ran, as far as the GPU's timer and clock show it.
struct Interruptions {
  std::uint32_t switches = 0;  ///< gaps in the timer: the GPU ran another process, and private caches came back empty
  std::uint64_t away_ns = 0;   ///< length of all gaps together
  double cycles_per_ns = 0;    ///< SM clock over the program's run, gaps left out; 0: not watched, or too short a run
  friend bool operator==(const Interruptions&, const Interruptions&) = default;
};

/// What one program gave: a PhaseTrace per phase, the SM each agent really ran on, what interrupted it, and where its
/// memory lies.
struct ProgramTrace {
  std::vector<PhaseTrace> phases;
  std::vector<std::uint32_t> agent_sms;
  Interruptions interruptions;
  std::uint64_t address = 0;  ///< virtual, where the program asks for it; 0: it doesn't, or nobody knows
  friend bool operator==(const ProgramTrace&, const ProgramTrace&) = default;
};

/// The buffer whose address a program asks for; nothing where it asks for none, or for other than global memory's.
std::optional<std::uint32_t> asked_buffer(const Program& program);

/// Number of positions of a walk's footprint: footprint / stride, at least 1.
std::uint64_t positions(const Walk& walk);
/// Loads in one lap: loads_per_lap, or one for each position.
std::uint64_t lap_loads(const Walk& walk);

/// `bad_input` where an index is out of range, a walk leaves its buffer, a stride is no multiple of 4, a path doesn't
/// fit its buffer's space, something is recorded with several lanes, stores are recorded or made by several, or two
/// walks would change the same bytes.
Expected<void> validate(const Program& program);

/// What a walk that holds code does so for: its agent's next recorded phase, 0 where other than walks over code come
/// before one, and how many phases in between are on its SM, or on others.
struct HeldPhases {
  std::size_t look = 0, here = 0, elsewhere = 0;
};
HeldPhases held_phases(const Program& program, std::size_t index);

/// The walk of a phase that chases pointers laid into memory before it runs: laps timed as a whole. Null for others.
const Walk* laid_chase(const Phase& phase);

/// A texture has so many 4-byte `elements`: which such part of its buffer a walk through one lies in. The first, or any
/// one where a single lane walks once and nothing is recorded. Nothing where it lies in none.
std::optional<std::uint64_t> texture_part(const Walk& walk, std::uint64_t elements);

/// Whether a phase stores to global memory.
bool is_store(const Phase& phase);

/// The walk of a phase that decides what words in memory hold: laid before the launch, or stored in it. Null for
/// others.
const Walk* changed_words(const Phase& phase);

/// Pointers that a laid chase takes: one that goes round and round lies there once.
std::uint64_t laid_loads(const Walk& walk);

/// What walks that run together change of one memory. Two can do so of pointers that are the same, of stores, which
/// leave the same zeros everywhere, and of no byte in common. The walks have to outlive it.
class ChangedWords {
 public:
  /// Whether a walk can do so beside all that were added.
  bool may_be_joined_by(const Walk& walk) const;
  void add(const Walk& walk);

 private:
  std::multimap<std::uint64_t, const Walk*> by_first_byte_;
  std::uint64_t longest_bytes_ = 0;
};

/// A hash of everything in a program but its label: the key of a recording. Stable across builds and machines.
std::uint64_t hash(const Program& program);

}  // namespace gputopo::program
