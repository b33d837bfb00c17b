// The stream program: a grid of threads that moves bytes as fast as it can. Plain data, as the chase program is.
//
// A chase tells latency and presence, one load after another; a stream tells throughput: how many bytes a level moves
// in a cycle or a second. Warps make accesses of one width; a thread makes `items` of them in a trip and has `unroll`
// in flight, and a lap is as many trips as the footprint takes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "error/error.hpp"
#include "program/program.hpp"

namespace gputopo::program {

enum class Operation {
  read,
  write,
  copy,       ///< reads and writes as many bytes; in global memory to a second buffer, in shared memory in place
  fetch_add,  ///< atomic addition of one 32-bit word that gives back what was there
  add,        ///< the same without an answer
  upload,     ///< from page-locked memory of the host by the GPU's copy engine, as its driver does it; no kernel runs
  download,   ///< the other way
};

/// Whether bytes pass the link to the host.
constexpr bool is_transfer(Operation operation) {
  return operation == Operation::upload || operation == Operation::download;
}

/// Which part of the buffer a block walks.
enum class Region {
  block,     ///< each block its own `footprint_bytes`, again and again
  grid,      ///< all blocks together walk `footprint_bytes`, neighbouring warps on neighbouring bytes
  all,       ///< every block walks all of `footprint_bytes`, each from another start
  together,  ///< the same, all from one start, so that they are at about the same bytes throughout
};

/// Where the lanes of a warp go. Of a lane's items the next one lies behind those of the whole warp (striped), right
/// behind the one before (direct, broadcast), or in the same place (fixed).
enum class Arrangement {
  striped,    ///< neighbouring lanes on neighbouring items: a warp's access is one run of bytes
  direct,     ///< each lane has its items in a row: a warp's access touches `items` times as many lines
  broadcast,  ///< all lanes of a warp ask for the same item
  bulk,       ///< no lane: one thread asks the SM's copy engine for `bulk_bytes` in a row, an item (cp.async.bulk)
  fixed,      ///< lane l at (l / lane_group) * group_stride_bytes + (l % lane_group) * lane_stride_bytes, always
};

/// Whether all blocks walk the same bytes.
constexpr bool is_of_all(Region region) {
  return region == Region::all || region == Region::together;
}

std::string_view to_string(Operation operation);
std::string_view to_string(Region region);
std::string_view to_string(Arrangement arrangement);

inline constexpr std::uint32_t warp_lanes = 32;

/// One lap in so many is taken in turn, of streams whose warps take any.
inline constexpr std::uint32_t turns_of_laps = 8;

struct Stream {
  std::string label;  ///< for error messages and recordings
  Path path = Path::global_cached;
  Operation operation = Operation::read;
  std::uint32_t access_bytes = 4;  ///< of one thread and access: 1, 2, 4, 8 or 16
  Region region = Region::grid;
  std::uint64_t footprint_bytes = 0;  ///< a whole number of step_bytes(), but for fixed lanes
  Arrangement arrangement = Arrangement::striped;
  std::uint32_t lane_group = warp_lanes;  ///< of fixed lanes, as are the strides
  std::uint64_t lane_stride_bytes = 0;
  std::uint64_t group_stride_bytes = 0;
  std::uint64_t warp_stride_bytes = 0;
  std::uint32_t bulk_bytes = 0;  ///< of one access of Arrangement::bulk: a multiple of 16
  std::uint32_t items = 1;       ///< accesses of a thread in a trip
  std::uint32_t unroll = 1;  ///< accesses in flight together, of one trip or several; of fixed lanes it divides `items`
  std::uint32_t threads = 256;          ///< of a block, whole warps
  std::uint32_t blocks = 1;             ///< of the grid
  std::uint32_t laps = 1;               ///< with several a first one warms up, untimed
  std::uint32_t carve_out_percent = 0;  ///< shared-memory carve-out to ask for, percent of the largest
  /// Every thread makes its items once and the grid is the loop: of region `grid`, one step long. The grid is launched
  /// `laps` times in a row and timed as a whole; there are no cycles then.
  bool one_shot = false;
  /// Of the last eighth of the laps warps take some as they are done with the ones before, and all end together: SMs
  /// aren't equally fast, by a twentieth or so to either side, and what is timed ends with the last. Else each makes
  /// `laps`, which is as many in all. No more than that: what a cache has lost of some would be left to them.
  bool in_turn = false;
  std::uint64_t first_byte = 0;  ///< where it begins in its buffers, whole accesses: other memory, in other places
  friend bool operator==(const Stream&, const Stream&) = default;
};

/// What a stream gave.
struct StreamTrace {
  std::uint64_t bytes = 0;     ///< moved in the timed laps, by count: what a warp's lanes ask for twice counts once
  std::uint64_t accesses = 0;  ///< of warps in the timed laps
  std::uint64_t cycles = 0;    ///< SM cycles from an SM's first start to its last end, mean over SMs; 0: not known
  std::uint64_t ns = 0;        ///< from the first block's start to the last one's end; 0: not known
  std::uint32_t sms = 0;       ///< that took part
  friend bool operator==(const StreamTrace&, const StreamTrace&) = default;
};

/// Offset of a lane's first item from its warp's place, bytes.
std::uint64_t lane_offset(const Stream& stream, std::uint32_t lane);
/// From one item of a thread to its next one, bytes.
std::uint64_t item_stride(const Stream& stream);
/// From one warp of a block to the next, bytes.
std::uint64_t warp_stride(const Stream& stream);
/// What a block (of region `grid`: the grid) gets done in a trip: what footprints are multiples of. 0 for fixed lanes.
std::uint64_t step_bytes(const Stream& stream);
/// Trips in a lap: 1 for fixed lanes and one-shot grids.
std::uint64_t trips(const Stream& stream);
/// Different bytes that one access of a warp asks for.
std::uint64_t warp_bytes(const Stream& stream);
/// Bytes of the buffer: footprints of all blocks together.
std::uint64_t buffer_bytes(const Stream& stream);
/// Accesses of all warps in `laps` laps, and the bytes by count.
std::uint64_t counted_accesses(const Stream& stream);
std::uint64_t counted_bytes(const Stream& stream);

/// The stream with as much of `footprint_bytes` as makes whole steps, one at least.
Stream fitted(Stream stream, std::uint64_t footprint_bytes);

/// `bad_input` where a width, a path, a footprint or a grid can't be.
Expected<void> validate(const Stream& stream);

/// A hash of everything in a stream but its label: the key of a recording. No chase program has the same by design.
std::uint64_t hash(const Stream& stream);

}  // namespace gputopo::program
