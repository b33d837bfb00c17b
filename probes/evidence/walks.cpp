#include "evidence/walks.hpp"

#include <algorithm>

namespace gputopo::evidence {

std::uint64_t pages_bytes(const device::DeviceInfo& info) {
  constexpr std::uint64_t unit = std::uint64_t{1} << 20;
  return (info.largest_buffer_bytes - info.largest_buffer_bytes / 16) / unit * unit;
}

program::Program make_program(std::string label, const device::DeviceInfo& info, Slot slot) {
  program::Program p;
  p.label = std::move(label);
  p.buffers = {{program::Space::global, slot_bytes, 0}};
  if (slot >= slot_texture) p.buffers.push_back({program::Space::global, slot_bytes, 0});
  if (slot >= slot_flush) p.buffers.push_back({program::Space::global, slot_bytes, 0});
  if (slot == slot_constant) p.buffers.push_back({program::Space::constant, info.constant_bytes_per_module, 0});
  // Before the pages lies nothing: not every GPU has constants.
  if (slot == slot_pages) p.buffers.push_back({program::Space::global, 4, 0});
  if (slot >= slot_pages) p.buffers.push_back({program::Space::global, pages_bytes(info), 0});
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
  return walk;
}

program::Walk recorded(program::Walk walk, program::Record record, std::uint32_t laps) {
  walk.record = record;
  walk.laps = laps;
  walk.lanes = 1;
  return walk;
}

program::Walk by_all_lanes(program::Walk walk, const device::DeviceInfo& info) {
  walk.lanes = std::max<std::uint32_t>(1, info.warps_per_block * 32);
  return walk;
}

program::Walk by_one_warp(program::Walk walk) {
  walk.lanes = 32;
  return walk;
}

program::Walk past_l1(program::Walk walk) {
  walk.path = program::Path::global_l2_only;
  return walk;
}

}  // namespace gputopo::evidence
