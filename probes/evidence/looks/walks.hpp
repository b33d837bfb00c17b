// The loads of each memory, and chase programs over a fixed set of buffers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "device/device.hpp"
#include "program/program.hpp"

namespace gputopo::evidence {

/// Buffers by purpose. Texture walks have memory of their own: on unified L1 caches a line that a texture fetch brought
/// in stays, misses for every global load of the same address and isn't replaced by it, even in later kernels.
/// `slot_pages` is nearly all of the GPU's memory: what TLBs reach is gigabytes.
enum Slot : std::uint32_t {
  slot_global = 0,
  slot_texture = 1,
  slot_flush = 2,
  slot_constant = 3,
  slot_pages = 4,
  slot_code = 5
};

/// A memory as programs see it: a kind of load and the buffer it walks.
struct CachePath {
  std::string_view id;
  program::Path path = program::Path::global_cached;
  Slot slot = slot_global;
};

inline constexpr CachePath l1_path{"l1", program::Path::global_cached, slot_global};
inline constexpr CachePath texture_path{"texture", program::Path::texture, slot_texture};
inline constexpr CachePath read_only_path{"read_only", program::Path::read_only, slot_global};
inline constexpr CachePath constant_path{"constant_l1", program::Path::constant, slot_constant};
inline constexpr CachePath constant_l1_5_path{"constant_l1_5", program::Path::constant, slot_constant};
inline constexpr CachePath instruction_l0_path{"instruction_l0", program::Path::instruction, slot_code};
inline constexpr CachePath l2_path{"l2", program::Path::global_l2_only, slot_flush};

/// Size of the global and texture slots; walks that start at 0 stay in the lower half, fresh regions lie above.
inline constexpr std::uint64_t slot_bytes = std::uint64_t{32} << 20;
inline constexpr std::uint64_t sweep_limit_bytes = slot_bytes / 2;

/// How much of a slot can be walked, and whether kernels read from its kind of memory for themselves, too.
std::uint64_t room_of(const device::DeviceInfo& info, Slot slot);
constexpr bool kernels_read(Slot slot) {
  return slot == slot_constant || slot == slot_code;
}

/// Size of the slot of pages: what the device gives, less a sixteenth for the other slots.
std::uint64_t pages_bytes(const device::DeviceInfo& info);

/// An empty program whose buffers are the slots up to `slot`.
program::Program make_program(std::string label, const device::DeviceInfo& info, Slot slot);

/// A walk over `footprint_bytes` of the path's slot, forward, one lane, nothing recorded.
program::Walk make_walk(const CachePath& path, std::uint64_t footprint_bytes, std::uint64_t stride_bytes,
                        std::uint32_t laps);
/// The same, recorded.
program::Walk recorded(program::Walk walk, program::Record record, std::uint32_t laps);

/// The same by every lane of a block: for warming what one thread would take long for.
program::Walk by_all_lanes(program::Walk walk, const device::DeviceInfo& info);

/// The same walk by the lanes of one warp: 32 times as fast, and as good as in order.
program::Walk by_one_warp(program::Walk walk);

/// What pushes lines out of an SM's cache that holds so many bytes; 0: of one whose size isn't known, four times as
/// much as the largest holds (docs/domain.md), of which one that replaces at random keeps one line in fifty.
inline constexpr std::uint64_t pushing_bytes(std::uint64_t capacity_bytes) {
  return capacity_bytes != 0 ? 2 * capacity_bytes : std::uint64_t{1} << 20;
}

/// The same past L1, whatever the path: brings lines into the L2 and leaves the SM's own caches alone.
program::Walk past_l1(program::Walk walk);

/// A place in [0, 1) for each number: those of any row of numbers lie as evenly as can be, at no equal distances (the
/// multiples of the golden section, modulo 1).
double even_place(std::uint64_t number);

/// How far lines lie apart whose load brings the next one's translation: an odd number of 128 B, so that none finds
/// what a neighbour fetched, in a page of the smallest kind that there could be, or that GPUs are known to give device
/// memory. Of the latter no two neighbours lie in one row of DRAM.
struct LinesApart {
  std::uint64_t stride_bytes, page_bytes;
  /// Whether the `i`-th of a walk from `first_byte` on lies in the page of the one before.
  bool is_translated(std::uint64_t first_byte, std::size_t i) const {
    return i != 0 && (first_byte + i * stride_bytes) % page_bytes >= stride_bytes;
  }
};
inline constexpr LinesApart in_a_small_page{9 * 128, 4 << 10}, in_a_large_page{129 * 128, 64 << 10};

}  // namespace gputopo::evidence
