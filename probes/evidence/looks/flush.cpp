#include "evidence/looks/flush.hpp"

#include <algorithm>

namespace gputopo::evidence {

std::uint64_t flush_part_bytes(const device::DeviceInfo& info, std::uint64_t bytes) {
  constexpr std::uint64_t least_part = 1 << 20;  // shorter ones cost more in launches than they save
  const std::uint64_t parts = std::clamp<std::uint64_t>(bytes / least_part, 1, std::max(1U, info.gpu.sm_count));
  return (bytes / parts + flush_line_bytes) / flush_line_bytes * flush_line_bytes;
}

program::Batch flush_batch(const device::DeviceInfo& info, std::uint64_t bytes, std::uint64_t buffer_bytes,
                           std::uint64_t line_bytes, std::uint64_t first_byte) {
  const std::uint64_t part = flush_part_bytes(info, bytes);
  program::Batch batch;
  for (std::uint64_t at = 0; at < bytes; at += part) {
    program::Program p = make_program("flush", info, slot_flush);
    p.buffers[slot_flush].size_bytes = std::max(buffer_bytes, slot_bytes);
    program::Walk walk = by_all_lanes(make_walk(l2_path, std::min(part, bytes - at), line_bytes, 1), info);
    walk.first_byte = first_byte + at;
    p.phases = {walk};
    batch.push_back(std::move(p));
  }
  return batch;
}

}  // namespace gputopo::evidence
