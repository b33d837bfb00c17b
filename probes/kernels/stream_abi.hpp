// What the host and the streaming kernels agree on. Plain data, included by both compilers.
#pragma once

#include <cstdint>

namespace gputopo::kernels {

/// When one block streamed, by its SM's clock and by the GPU's timer.
struct StreamBlock {
  std::uint64_t begin_clock;
  std::uint64_t end_clock;
  std::uint64_t begin_ns;
  std::uint64_t end_ns;
  std::uint32_t sm;
  std::uint32_t pad;
};

/// What all blocks of a grid have in common, in device memory.
struct StreamCommon {
  std::uint32_t sink;          ///< never written, which the compiler can't know
  std::uint32_t laps_in_turn;  ///< of `laps`, for each warp one of those that all take as they can
  std::uint32_t laps_of_turn;  ///< that a warp takes at once of them
  std::uint32_t pad;
  unsigned long long taken;  ///< of them, by all warps
};

/// Offsets and strides in bytes. A warp starts at (block * block_start + warp * warp_stride) of its block's region, a
/// lane at (lane / lane_group) * group_stride + (lane % lane_group) * lane_stride from there.
struct StreamArguments {
  std::uint64_t from;     ///< address of the buffer; 0 in shared memory
  std::uint64_t to;       ///< of the second buffer of a copy in global memory
  std::uint64_t texture;  ///< texture object over `from`, with elements as wide as the accesses
  StreamBlock* blocks;    ///< one a block; null: not recorded
  StreamCommon* common;   ///< its laps are read by what reads past the L1, else it is a place to write to
  std::uint64_t block_base;
  std::uint64_t block_start;
  std::uint64_t region;
  std::uint64_t step;
  std::uint64_t warp_stride;
  std::uint64_t trips;  ///< of a lap
  std::uint32_t laps;
  std::uint32_t warm_laps;  ///< before these, untimed
  std::uint32_t item_stride;
  std::uint32_t lane_group;
  std::uint32_t lane_stride;
  std::uint32_t group_stride;
  std::uint32_t items;
  std::uint32_t zero;          ///< 0, which the compiler can't know
  std::uint32_t shared_words;  ///< to fill before the stream
  std::uint32_t stages;        ///< copies in bulk in flight
};
static_assert(sizeof(StreamArguments) <= 128,
              "nvcc compiles longer ones otherwise: an H200's L1 then gives 0.05 % less");

/// The largest block of a kernel, by its registers for what is in flight: a block of 1024 threads has 64 a thread, and
/// what is spilled would pass the L1.
constexpr std::uint32_t most_stream_threads(bool copies, bool is_far, std::uint32_t width, std::uint32_t unroll) {
  return width * unroll <= (copies ? 64U : is_far ? 96U : 128U) ? 1024 : 512;
}

/// Accesses in flight of the kernels whose lanes lie anywhere.
inline constexpr std::uint32_t far_unroll = 8;

/// Copies in bulk that a block may have in flight.
inline constexpr std::uint32_t most_stages = 32;

/// Bytes of the kernels' constant bank.
inline constexpr std::uint32_t stream_bank_bytes = 65536;

}  // namespace gputopo::kernels
