// What the host and the chase kernel agree on. Plain data, included by both compilers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gputopo::kernels {

inline constexpr std::uint32_t block_threads = 1024;
inline constexpr std::uint32_t warp_threads = 32;

// The recorder lives in shared memory: recording into global memory could change the cache that is being measured.
// Together with the 1 KiB that the system keeps in each block this stays below 8 KiB, the smallest carve-out that
// unified-L1 GPUs give any kernel, so recording costs no L1.
inline constexpr std::uint32_t histogram_bins = 1408;                 ///< latencies 0 to 1407 cycles, one bin each
inline constexpr std::uint32_t latency_entries = 2 * histogram_bins;  ///< 16-bit latencies in the same space
inline constexpr std::uint32_t overflow_entries = 64;                 ///< latencies beyond the bins, one by one

// A unit of straight-line code of an Execute phase: instructions, and their size from Volta on.
inline constexpr std::uint32_t code_unit_instructions = 128;
inline constexpr std::uint32_t code_instruction_bytes = 16;
inline constexpr std::uint32_t code_units = 128;

// What took the GPU away shows as a gap between two looks at its timer that nothing else can fill. A block looks at
// least once in `stretch_loads` dependent loads, and no load takes longer than `slowest_load_ns`: on an H200 one that
// misses the TLB and all caches takes 0.6 us. The shortest gap seen, two switches and another process's slice between
// them, was 640 us.
inline constexpr std::uint32_t stretch_loads = 64;
inline constexpr std::uint32_t slowest_load_ns = 2000;
// After a stretch a block looks when its clock says that so many cycles passed since the last look: 33 us at 0.5 GHz,
// below which no GPU works.
inline constexpr std::uint32_t glance_cycles = 16384;
inline constexpr std::uint32_t longest_glance_ns = 2 * glance_cycles;
inline constexpr std::uint32_t gap_ns = stretch_loads * slowest_load_ns + longest_glance_ns;
// Loads of one thread out of many that walk together: the lanes' loads queue behind each other.
inline constexpr std::uint32_t stretch_rows = 4;
// Units of straight-line code between two looks: instructions that come all the way from memory, 128 bytes at a time,
// take 700 cycles for 8, so a unit takes about 6 us.
inline constexpr std::uint32_t stretch_units = 16;

// Blocks of code that a walk over code jumps to, a line each, and how many entries of the jump table lie in one line of
// constants: the first of them leads to no block.
inline constexpr std::uint32_t code_block_bytes = 128;
inline constexpr std::uint32_t blocks_in_a_row = 16;
inline constexpr std::uint32_t code_rows = 128;
inline constexpr std::uint32_t code_own_bytes = 5 * code_block_bytes;  ///< what runs between two jumps, in its lines
inline constexpr std::uint32_t code_blocks = code_rows * (blocks_in_a_row - 1);
/// Jumps between two looks at the timer, fewer where they take long: 0.52 ms at 0.5 GHz, below which no GPU works. A
/// gap that nothing else can fill then is still shorter than any that was seen.
inline constexpr std::uint32_t stretch_jumps = 1408;
inline constexpr std::uint32_t stretch_cycles = 1U << 18;
inline constexpr std::uint32_t code_gap_ns = 2 * stretch_cycles + longest_glance_ns;
/// Gaps that one launch can list; every block lists its own.
inline constexpr std::uint32_t gap_entries = 8192;

/// Laps that can be timed one by one.
inline constexpr std::uint32_t lap_entries = histogram_bins;

enum TaskKind : std::uint32_t { task_walk = 0, task_execute = 1 };

// Of Task::flags.
inline constexpr std::uint32_t task_opens = 1;  ///< the first of its program in this queue
inline constexpr std::uint32_t task_wide = 2;   ///< a pointer chase whose words hold whole 64-bit addresses
/// Jumps whose thread runs nothing else until the next task that looks, which is its own, one or two behind: in between
/// come another warp's or its own, or other SMs'.
inline constexpr std::uint32_t task_holds = 4;
inline constexpr std::uint32_t task_looks = 8;

/// One phase as one thread block sees it.
struct Task {
  std::uint64_t buffer;      ///< global: address of the buffer; texture: its handle; shared: an offset in bytes; else 0
  std::uint64_t result;      ///< address of this task's Result, 0 for none
  std::uint64_t counter;     ///< address of the chain's turn counter, 0 where the chain stays on one SM
  std::uint32_t wait_value;  ///< wait until the counter reaches this; 0 for no wait
  std::uint32_t post_value;  ///< store this into the counter afterwards; 0 for none
  std::uint32_t kind;
  std::uint32_t path;
  std::uint32_t record;
  std::uint32_t lanes;
  std::uint32_t warp;
  std::uint32_t laps;
  std::uint32_t loads;
  std::uint32_t lead;  ///< loads before these, which aren't recorded
  std::uint32_t lead_first;
  std::uint32_t lead_step;
  std::uint32_t pad;
  std::uint32_t positions;
  std::uint32_t stride_words;
  std::uint32_t first_position;
  std::uint32_t step;
  std::uint32_t units;  ///< code units of an Execute phase
  std::uint32_t group;  ///< first phase of a program: its phases that follow here, this one included; else 0
  std::uint32_t flags;
  std::uint64_t first_byte;  ///< of the walk, within the buffer
};

/// Tasks are copied into shared memory a program at a time, since reading them between phases would disturb L1.
inline constexpr std::uint32_t task_slots = 8;
inline constexpr std::uint32_t task_words = sizeof(Task) / 4;
static_assert(sizeof(Task) % 16 == 0, "tasks are copied 16 bytes at a time");
inline constexpr std::uint32_t recorder_words = histogram_bins + overflow_entries;
inline constexpr std::uint32_t reserved_shared_bytes = 4 * (recorder_words + task_slots * task_words);
/// The kernels' static shared memory, rounded up to the granule in which it is given.
inline constexpr std::uint32_t static_shared_bytes = 128;
static_assert(reserved_shared_bytes + static_shared_bytes + 1024 <= 8192, "recording would cost L1");

/// Of the walks over code: two lists of blocks and the times of one stretch, behind the recorder; and behind these,
/// where jumps hold what they brought in, these jumps' list and times.
inline constexpr std::uint32_t code_list_entries = 2 * code_blocks + stretch_jumps;
inline constexpr std::uint32_t code_shared_bytes = 4 * recorder_words + 2 * code_list_entries;
inline constexpr std::uint32_t held_jumps = 2 * code_blocks;
inline constexpr std::uint32_t held_code_shared_bytes = code_shared_bytes + 2 * 2 * held_jumps;

/// What a block saw of the timer; kept in shared memory.
struct Seen {
  std::uint64_t last_ns;  ///< at the latest look
  std::uint64_t last_clock;
  std::uint64_t begin_ns;  ///< when the present program began here
  std::uint64_t begin_clock;
  std::uint64_t cycles;  ///< of the present phase, where they are counted
  std::uint64_t state;   ///< address of the LaunchState
  std::uint32_t sm;
  std::uint32_t go;              ///< the block has work: it claimed its SM and its turn came
  std::uint32_t quads;           ///< that the present phase's record is long
  std::uint32_t held, released;  ///< of jumps that hold what they brought in: it is there, and may be looked at
};
static_assert(sizeof(Seen) <= static_shared_bytes, "the kernels' statics outgrew their granule");

struct Result {
  std::uint64_t cycles;
  std::uint64_t begin_ns;  ///< of the program in this block, first load to the end of this phase
  std::uint64_t end_ns;
  std::uint64_t begin_clock;
  std::uint64_t end_clock;
  std::uint32_t loads;
  std::uint32_t sm;
  std::uint32_t done;
  std::uint32_t overflow_count;
  std::uint32_t pad[2];  ///< data is whole quads
  std::uint32_t overflow[overflow_entries];
  std::uint32_t data[histogram_bins];
};
/// Data is written, and read by the host, so many bytes at a time: where loads' latencies are recorded one by one, but
/// not of code, what they take; all of it otherwise.
inline constexpr std::uint32_t quad_bytes = 16;
inline constexpr std::uint32_t latencies_a_quad = quad_bytes / sizeof(std::uint16_t);
inline constexpr std::uint32_t data_quads = sizeof(Result::data) / quad_bytes;
static_assert(sizeof(Result) % quad_bytes == 0 && offsetof(Result, data) % quad_bytes == 0, "quads are aligned");

/// Tasks of one SM: tasks[first .. first + count).
struct Queue {
  std::uint32_t first;
  std::uint32_t count;
};

/// The GPU was away from one block.
struct Gap {
  std::uint64_t begin_ns;
  std::uint64_t end_ns;
  std::uint64_t cycles;  ///< that the SM's clock counted meanwhile: most often it runs on
  std::uint32_t sm;
  std::uint32_t pad;
};

/// Zero before the launch. Right before it in memory lie gap_entries Gaps, right after it the Results.
struct LaunchState {
  std::uint32_t arrived;  ///< blocks that hold a queue and are running
  std::uint32_t failed;   ///< some block gave up waiting
  std::uint32_t gap_count;
  std::uint32_t pad[29];  ///< Results lie on whole lines
};
static_assert(sizeof(LaunchState) == 128, "Results follow it");

/// The texture is an argument where its fetches are timed: from anywhere but the kernel's parameters its handle would
/// have to be moved into a uniform register before every fetch, which adds to the latency. A task's lead goes through
/// its own, which may be another part of the buffer.
struct LaunchArguments {
  const Task* tasks;
  const Queue* queues;    ///< one an SM
  std::uint32_t* claims;  ///< one an SM, zero before the launch
  LaunchState* state;
  std::uint64_t texture;  ///< for Path::texture, the buffer's first part; 0 where the launch has none
  std::uint32_t queue_count;
  std::uint32_t rendezvous;  ///< blocks to wait for before starting; 0 where no chain crosses SMs
  /// Where no phase has several lanes: warps that keep their first thread, all others leave. 0: every thread stays.
  std::uint32_t lone_warps;
};

}  // namespace gputopo::kernels
