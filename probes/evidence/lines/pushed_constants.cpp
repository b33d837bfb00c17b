#include "evidence/lines/pushed_constants.hpp"

#include <algorithm>
#include <span>

#include "evidence/lines/near_and_far.hpp"

namespace gputopo::evidence {
namespace {

using program::Record;
using program::Walk;

std::uint32_t modules_of(const Eviction& e) {
  return e.other_banks + (e.part_bytes == 0 ? 0 : 1);
}

void add_eviction(program::Program& p, const device::DeviceInfo& info, std::uint64_t stride, const Eviction& e) {
  Walk far = make_walk(constant_l1_5_path, e.far_bytes, stride, 4);
  far.first_byte = e.near_bytes;
  if (e.far_bytes != 0) p.phases.emplace_back(far);
  if (e.code_bytes != 0) p.phases.emplace_back(program::Execute{0, e.code_bytes, 2, false});
  for (std::uint32_t i = 0; i < modules_of(e); ++i) {
    const std::uint64_t bytes = i < e.other_banks ? info.constant_bytes_per_module : e.part_bytes;
    Walk other = make_walk(constant_l1_5_path, bytes, stride, 2);
    other.buffer = static_cast<std::uint32_t>(slot_constant) + 1 + i;
    p.phases.emplace_back(other);
  }
}

// Constants that were pushed out, loaded from afar once (so that they come by the level behind), and pushed out again.
// Loads past all SMs' caches may come before they are looked at.
program::Program cold_program(const device::DeviceInfo& info, std::uint64_t stride, std::uint64_t every_line,
                              const Eviction& e, const Walk* past, std::uint32_t sm, std::uint64_t first_byte = 0) {
  program::Program p = make_program("constant_l1_5 cold", info, slot_constant);
  p.isolation = Scope::gpu;
  p.agents = {{sm, 0}};
  for (std::uint32_t i = 1; i <= modules_of(e); ++i)
    p.buffers.push_back({program::Space::constant, info.constant_bytes_per_module, i});
  Walk near = make_walk(constant_l1_5_path, e.near_bytes - first_byte, stride, 1);
  near.first_byte = first_byte;
  add_eviction(p, info, every_line, e);
  p.phases.emplace_back(e.far_bytes == 0 ? make_walk(constant_l1_5_path, e.near_bytes, every_line, settling_laps)
                                         : near);
  add_eviction(p, info, every_line, e);
  if (past != nullptr) {
    p.buffers[slot_flush].size_bytes = std::max(slot_bytes, past->footprint_bytes);
    p.phases.emplace_back(*past);
  }
  p.phases.emplace_back(recorded(near, Record::latencies, 1));
  return p;
}

// The same constants, brought by an SM whose caches had lost them as well, right before those loads.
program::Program brought_program(const device::DeviceInfo& info, std::uint64_t stride, std::uint64_t every_line,
                                 const Eviction& e, const Walk& past, std::uint32_t by_sm) {
  program::Program p = cold_program(info, stride, every_line, e, &past, 0);
  p.label = "constants brought by another SM";
  p.agents.push_back({by_sm, 0});
  std::vector<program::Phase> brings = cold_program(info, stride, every_line, e, nullptr, by_sm).phases;
  for (program::Phase& phase : brings) std::visit([](auto& of_other) { of_other.agent = 1; }, phase);
  std::get<Walk>(brings.back()).record = Record::nothing;
  p.phases.insert(p.phases.end() - 2, brings.begin(), brings.end());
  return p;
}

LooksByLine looks_of_traces(std::span<const program::ProgramTrace> traces) {
  LooksByLine looks(traces.front().phases.back().latencies.size());
  for (const program::ProgramTrace& trace : traces)
    for (std::size_t i = 0; i < looks.size(); ++i) looks[i].push_back(trace.phases.back().latencies.at(i));
  return looks;
}

}  // namespace

std::vector<Eviction> evictions_of(const device::DeviceInfo& info, std::uint64_t near,
                                   std::optional<std::uint64_t> near_l2_bytes) {
  constexpr std::uint32_t most_banks = 7;  // of other modules
  const std::uint64_t bank = info.constant_bytes_per_module;
  std::uint64_t room = near_l2_bytes ? *near_l2_bytes / 2 : ~std::uint64_t{0};
  const std::uint64_t far = std::min(bank - near, room);
  std::vector<Eviction> graded;
  for (const std::uint64_t part : {bank / 8, bank / 4, bank / 2, far})
    graded.push_back({near, std::min(part, far), 0, 0});
  room -= far;
  const std::uint64_t code = info.has_execute ? std::min(info.execute_limit_bytes, room) : 0;
  std::uint32_t banks = info.constant_modules > 1 ? std::min(info.constant_modules - 1, most_banks) : 0;
  banks = static_cast<std::uint32_t>(std::min<std::uint64_t>(banks, room / bank));
  if (code != 0) graded.push_back({near, far, code, 0});
  if (banks > 1) graded.push_back({near, far, 0, banks / 2});
  if (banks != 0) graded.push_back({near, far, 0, banks});
  // Half of a small L2 may be no more than the cache in front holds. Of three quarters it loses some, which shows.
  const std::uint64_t most = near_l2_bytes && banks == 0 ? *near_l2_bytes / 4 * 3 : 0;
  const std::uint64_t more = most - std::min(most, far);
  const std::uint64_t more_code = info.has_execute ? std::min(info.execute_limit_bytes, more) : 0;
  const std::uint64_t part = std::min(bank, more) / coarse_stride_bytes * coarse_stride_bytes;
  if (part != 0 && info.constant_modules > 1) graded.push_back({near, far, 0, 0, part});
  if (more_code > code) graded.push_back({near, far, more_code, 0});
  return graded;
}

Expected<LooksByLine> time_cold(Session& session, std::uint64_t stride, std::uint64_t every_line, const Eviction& e,
                                const Walk* past, std::uint64_t first_byte) {
  auto traces = session.run(
      program::Batch(looks_at_a_line, cold_program(session.info(), stride, every_line, e, past, 0, first_byte)));
  if (!traces) return tl::unexpected<Error>(traces.error());
  return looks_of_traces(*traces);
}

Expected<LooksByLine> time_brought(Session& session, std::uint64_t stride, std::uint64_t every_line, const Eviction& e,
                                   const Walk& past, std::uint32_t by_sm) {
  auto traces =
      session.run(program::Batch(looks_at_a_line, brought_program(session.info(), stride, every_line, e, past, by_sm)));
  if (!traces) return tl::unexpected<Error>(traces.error());
  return looks_of_traces(*traces);
}

PushedLooks same_places(const LooksByLine& before, const LooksByLine& after, double lost_from_cycles) {
  const auto lost = [&](std::vector<std::uint32_t> looks) {
    std::erase_if(looks, [&](std::uint32_t cycles) { return cycles < lost_from_cycles; });
    return looks;
  };
  PushedLooks same;
  for (std::size_t line = 0; line < std::min(before.size(), after.size()); ++line) {
    const auto of_before = lost(before[line]), of_after = lost(after[line]);
    for (std::size_t look = 0; look < std::min(of_before.size(), of_after.size()); ++look) {
      add(same.before, of_before[look]);
      add(same.after, of_after[look]);
    }
  }
  return same;
}

Expected<LostBySm> time_lost_constants(Session& session, const CacheFacts& l1, const Eviction& e) {
  constexpr std::size_t most_sms = 6;
  const auto sms = spread_sms(session.info().gpu.sm_count, most_sms);
  const std::size_t looks = std::max(fewest_looks, looks_at_a_line / sms.size());
  program::Batch batch;
  for (const std::uint32_t sm : sms)
    batch.insert(batch.end(), looks,
                 cold_program(session.info(), coarse_stride_bytes, l1.asked_bytes(), e, nullptr, sm));
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  LostBySm by_sm;
  for (std::size_t i = 0; i < traces->size(); i += looks)
    by_sm.push_back(looks_of_traces(std::span(*traces).subspan(i, looks)));
  return by_sm;
}

}  // namespace gputopo::evidence
