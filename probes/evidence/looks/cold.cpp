#include "evidence/looks/cold.hpp"

#include <algorithm>

namespace gputopo::evidence {

Cold cold_region(Session& session, const CachePath& path, std::uint64_t bytes, std::string label) {
  constexpr std::uint64_t every_sector = 32;
  const device::DeviceInfo& info = session.info();
  Cold cold;
  cold.program = make_program(std::move(label), info, path.slot);
  cold.bytes = bytes;
  if (path.slot == slot_constant) {
    const std::uint64_t eviction_bytes = info.constant_bytes_per_module / 2;
    cold.bytes = std::min(bytes, info.constant_bytes_per_module / 4);
    program::Walk far = make_walk(path, eviction_bytes, every_sector, 4);
    far.first_byte = info.constant_bytes_per_module - eviction_bytes;
    cold.program.phases = {make_walk(path, cold.bytes, every_sector, 1), far};
  } else {
    cold.first_byte = session.fresh_region(path.slot, bytes);
    program::Walk bring = past_l1(make_walk(path, bytes, every_sector, 1));
    bring.first_byte = cold.first_byte;
    cold.program.phases = {bring};
  }
  return cold;
}

}  // namespace gputopo::evidence
