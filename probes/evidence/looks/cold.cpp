#include "evidence/looks/cold.hpp"

#include <algorithm>

#include "evidence/looks/banks.hpp"

namespace gputopo::evidence {
namespace {

constexpr std::uint64_t every_sector = 32;
constexpr std::uint32_t pushing_laps = 4;

std::vector<program::Walk> pushing_walks(const device::DeviceInfo& info, const CachePath& path, PushedBy pushed_by,
                                         program::Program& p) {
  const std::uint64_t bank = info.constant_bytes_per_module;
  if (pushed_by == PushedBy::half_a_bank) {
    program::Walk far = make_walk(path, bank / 2, every_sector, pushing_laps);
    far.first_byte = bank - bank / 2;
    return {far};
  }
  add_banks(p, bank, info.constant_modules * bank);
  program::Walk others = make_walk(path, (info.constant_modules - 1) * bank, every_sector, 1);
  others.first_byte = bank;
  std::vector<program::Walk> walks;
  for (std::uint32_t lap = 0; lap < pushing_laps; ++lap)
    for (const program::Walk& part : over_banks(others, bank, every_sector)) walks.push_back(part);
  return walks;
}

}  // namespace

Cold cold_region(Session& session, const CachePath& path, std::uint64_t bytes, std::string label, PushedBy pushed_by) {
  const device::DeviceInfo& info = session.info();
  Cold cold;
  cold.program = make_program(std::move(label), info, path.slot);
  cold.bytes = bytes;
  if (path.slot == slot_constant) {
    cold.bytes = std::min(bytes, info.constant_bytes_per_module / 4);
    cold.program.phases = {make_walk(path, cold.bytes, every_sector, 1)};
    for (const program::Walk& walk : pushing_walks(info, path, pushed_by, cold.program))
      cold.program.phases.emplace_back(walk);
  } else {
    cold.first_byte = session.fresh_region(path.slot, bytes);
    program::Walk bring = past_l1(make_walk(path, bytes, every_sector, 1));
    bring.first_byte = cold.first_byte;
    cold.program.phases = {bring};
  }
  return cold;
}

}  // namespace gputopo::evidence
