#include "evidence/looks/walks.hpp"

#include <algorithm>
#include <cmath>

namespace gputopo::evidence {

std::uint64_t pages_bytes(const device::DeviceInfo& info) {
  constexpr std::uint64_t unit = std::uint64_t{1} << 20;
  return (info.largest_buffer_bytes - info.largest_buffer_bytes / 16) / unit * unit;
}

std::uint64_t room_of(const device::DeviceInfo& info, Slot slot) {
  if (slot == slot_constant) return info.constant_bytes_per_module;
  return slot == slot_code ? info.code_bytes : slot_bytes;
}

program::Program make_program(std::string label, const device::DeviceInfo& info, Slot slot) {
  program::Program p;
  p.label = std::move(label);
  p.buffers = {{program::Space::global, slot_bytes, 0}};
  if (slot >= slot_texture) p.buffers.push_back({program::Space::global, slot_bytes, 0});
  if (slot >= slot_flush) p.buffers.push_back({program::Space::global, slot_bytes, 0});
  const bool has_constants = slot == slot_constant || (slot == slot_code && info.constant_modules != 0);
  if (has_constants) p.buffers.push_back({program::Space::constant, info.constant_bytes_per_module, 0});
  // Before the pages lies nothing: not every GPU has constants.
  if (slot >= slot_pages && !has_constants) p.buffers.push_back({program::Space::global, 4, 0});
  if (slot == slot_pages) p.buffers.push_back({program::Space::global, pages_bytes(info), 0});
  if (slot != slot_code) return p;
  // Code is all that is walked, but for constants: everything else takes no room.
  for (std::uint32_t other = slot_global; other <= slot_flush; ++other) p.buffers[other].size_bytes = 4;
  p.buffers.push_back({program::Space::global, 4, 0});
  p.buffers.push_back({program::Space::code, info.code_bytes, 0});
  return p;
}

program::Walk make_walk(const CachePath& path, std::uint64_t footprint_bytes, std::uint64_t stride_bytes,
                        std::uint32_t laps) {
  program::Walk walk;
  walk.buffer = path.slot;
  walk.path = path.path;
  walk.footprint_bytes = footprint_bytes;
  walk.stride_bytes = stride_bytes;
  walk.laps = laps;
  // Upwards fetches run ahead of jumps, on an H200 by two lines and more: every level would seem to hit.
  if (path.path == program::Path::instruction) walk.order = program::Order::reverse;
  return walk;
}

program::Walk recorded(program::Walk walk, program::Record record, std::uint32_t laps) {
  walk.record = record;
  walk.laps = laps;
  walk.lanes = 1;
  return walk;
}

program::Walk by_all_lanes(program::Walk walk, const device::DeviceInfo& info) {
  if (walk.path == program::Path::instruction) return walk;  // a warp's lanes fetch together
  walk.lanes = std::max<std::uint32_t>(1, info.warps_per_block * 32);
  return walk;
}

program::Walk by_one_warp(program::Walk walk) {
  if (walk.path == program::Path::instruction) return walk;
  walk.lanes = 32;
  return walk;
}

program::Walk past_l1(program::Walk walk) {
  walk.path = program::Path::global_l2_only;
  return walk;
}

double even_place(std::uint64_t number) {
  constexpr double golden = 0.6180339887498949;
  const double turns = golden * static_cast<double>(number);
  return turns - std::floor(turns);
}

}  // namespace gputopo::evidence
