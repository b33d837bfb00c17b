#include "experiments/crosscheck/plan.hpp"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "evidence/looks/footprint.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;
using program::Program;
using program::Record;
using program::Walk;
using Shape = PlannedCheck::Shape;

constexpr std::uint32_t recorded_laps = 3;
constexpr std::uint32_t measured_warm_laps = 3;
constexpr std::uint64_t sampled_loads = 4096;

Program cache_program(const Session& session, const CachePath& path, std::uint64_t bytes, std::uint64_t stride,
                      Shape shape, std::uint32_t carve_out) {
  Program p = make_program(fmt::format("{} cross-check {} B", path.id, bytes), session.info(), path.slot);
  p.carve_out_percent = carve_out;
  const Walk walk = make_walk(path, bytes, stride, 1);
  if (shape == Shape::recorded) {
    // One phase: writing a phase's result would push lines out of the cache.
    p.phases = {recorded(walk, Record::histogram, recorded_laps)};
  } else {
    p.phases = {make_walk(path, bytes, stride, measured_warm_laps), recorded(walk, Record::histogram, 1)};
  }
  return p;
}

// The same phases, with one load each.
Program emptied(Program p) {
  for (auto& phase : p.phases)
    if (auto* walk = std::get_if<Walk>(&phase)) {
      // Code is entered where a block begins.
      const bool is_code = walk->path == program::Path::instruction;
      walk->stride_bytes = is_code ? walk->stride_bytes : 4;
      walk->footprint_bytes = walk->stride_bytes;
      walk->loads_per_lap = 1;
      walk->laps = 1;
    }
  return p;
}

// In front: the first launch after a pause finds caches that no later one finds, so an empty one is there to be
// skipped.
void add_empties(std::vector<PlannedCheck>& plan, std::size_t like, std::size_t count) {
  PlannedCheck empty = plan[like];
  empty.empty = true;
  empty.footprint_bytes = 4;
  if (empty.shape == Shape::sampled) empty.before.clear();  // only what is asked for depends on it
  for (Program& p : empty.launch) p = emptied(std::move(p));
  plan.insert(plan.begin(), count, empty);
}

}  // namespace

std::vector<std::uint64_t> check_footprints(std::uint64_t capacity_bytes, std::uint64_t stride_bytes,
                                            std::uint64_t limit_bytes) {
  std::vector<std::uint64_t> all;
  const auto add = [&](std::uint64_t bytes) {
    all.push_back(std::clamp(bytes / stride_bytes * stride_bytes, stride_bytes, std::max(stride_bytes, limit_bytes)));
  };
  for (const std::uint64_t eighths : {2, 4, 6, 7}) add(capacity_bytes * eighths / 8);
  const std::uint64_t at = capacity_bytes / stride_bytes;  // in lines
  for (const std::uint64_t line : {at - std::min<std::uint64_t>(at, 1), at, at + 1, at + 2, at + 4, at + 8})
    add(line * stride_bytes);
  for (const std::uint64_t eighths : {10, 12, 16}) add(capacity_bytes * eighths / 8);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::vector<PlannedCheck> plan_sm_cache(Session& session, const CachePath& path, std::uint64_t capacity_bytes,
                                        std::uint64_t stride_bytes, bool carve_outs) {
  const std::uint64_t limit = path.slot == slot_constant ? session.info().constant_bytes_per_module : sweep_limit_bytes;
  std::vector<PlannedCheck> plan;
  const auto add = [&](std::uint64_t bytes, Shape shape, std::uint32_t carve_out) {
    const std::uint64_t whole = std::clamp(bytes / stride_bytes * stride_bytes, stride_bytes, limit);
    plan.push_back({shape,
                    whole,
                    carve_out,
                    {},
                    {cache_program(session, path, whole, stride_bytes, shape, carve_out)},
                    1,
                    0,
                    false});
  };
  for (const std::uint64_t bytes : check_footprints(capacity_bytes, stride_bytes, limit))
    add(bytes, Shape::recorded, 0);
  add(capacity_bytes * 3 / 2, Shape::measured, 0);
  add_empties(plan, plan.size() - 1, 1);
  if (carve_outs) {
    // What is left to the cache at these isn't known here, so the footprints are spread evenly.
    for (const std::uint32_t carve_out : {50U, 100U}) {
      constexpr std::uint64_t count = 5;
      for (std::uint64_t i = 1; i <= count; ++i)
        add(capacity_bytes * (2 * i - 1) / (2 * count), Shape::recorded, carve_out);
      add_empties(plan, plan.size() - 1, 1);
    }
  }
  const auto first = std::find_if(plan.begin(), plan.end(),
                                  [](const PlannedCheck& c) { return !c.empty && c.shape == Shape::recorded; });
  add_empties(plan, static_cast<std::size_t>(first - plan.begin()), 3);
  return plan;
}

namespace {

PlannedCheck code_check(const Session& session, std::uint64_t bytes, std::uint64_t stride_bytes) {
  Program p = make_program(fmt::format("{} cross-check {} B", constant_l1_5_path.id, bytes), session.info(),
                           constant_l1_5_path.slot);
  p.isolation = Scope::gpu;
  const Walk walk = recorded(make_walk(constant_l1_5_path, bytes, stride_bytes, 1), Record::histogram, recorded_laps);
  p.phases = {walk};
  if (session.info().has_execute) {
    program::Execute code;
    code.code_bytes = session.info().execute_limit_bytes;
    code.laps = 2;
    p.phases.emplace_back(code);
    p.phases.emplace_back(walk);
  }
  return {Shape::recorded, bytes, 0, {}, {std::move(p)}, 1, 0, false};
}

// Code in place of everything else: kernels find their parameters gone, whatever ran before them.
Program code_program(const Session& session) {
  Program p = make_program("constant_l1_5 cross-check, code", session.info(), constant_l1_5_path.slot);
  p.isolation = Scope::gpu;
  program::Execute code;
  code.code_bytes = session.info().execute_limit_bytes;
  code.laps = 1;
  p.phases = {code};
  return p;
}

// As the search for the size walks them, all laps recorded.
PlannedCheck banks_check(const Session& session, std::uint64_t bytes, std::uint64_t line_bytes,
                         std::uint64_t front_line_bytes) {
  // A module's code is fetched between its neighbours' constants, and pushes some out that the second lap misses.
  constexpr std::uint32_t unsteady_laps = 2;
  constexpr std::uint32_t steady_laps = 2;
  FootprintSpec spec;
  spec.path = constant_l1_5_path;
  spec.stride_bytes = line_bytes;
  spec.isolation = Scope::gpu;
  spec.front_line_bytes = front_line_bytes;
  spec.bank_bytes = session.info().constant_bytes_per_module;
  spec.warm_laps = 0;
  spec.timed_laps = unsteady_laps + steady_laps;
  PlannedCheck check;
  check.footprint_bytes = bytes;
  check.launch = {footprint_program(session.info(), spec, bytes)};
  check.modules = static_cast<std::uint32_t>((bytes + spec.bank_bytes - 1) / spec.bank_bytes);
  std::uint64_t unsteady_loads = bytes / line_bytes * unsteady_laps;
  for (const auto& phase : check.launch.front().phases) {
    if (unsteady_loads == 0) break;
    unsteady_loads -= program::lap_loads(std::get<Walk>(phase));
    ++check.warm_phases;
  }
  if (session.info().has_execute) check.before = {code_program(session)};
  return check;
}

}  // namespace

std::vector<PlannedCheck> plan_constant_l1_5(Session& session, std::uint64_t capacity_bytes, std::uint64_t line_bytes,
                                             std::uint64_t front_line_bytes) {
  const std::uint64_t bank = session.info().constant_bytes_per_module;
  std::vector<PlannedCheck> plan;
  if (session.info().constant_modules > 1 && capacity_bytes > bank) {
    const std::uint64_t limit = bank * session.info().constant_modules;
    // By modules and phases: what kernels count by themselves, and the system while it clears room for results,
    // differs.
    std::map<std::pair<std::uint32_t, std::size_t>, std::size_t> first_of;
    // What the kernels' own constants push out misses from somewhere below the capacity on: rows there show it.
    std::vector<std::uint64_t> footprints = check_footprints(capacity_bytes, line_bytes, limit);
    for (const std::uint64_t part : {16, 32, 64, 128})
      footprints.push_back((capacity_bytes - capacity_bytes / part) / line_bytes * line_bytes);
    std::sort(footprints.begin(), footprints.end());
    footprints.erase(std::unique(footprints.begin(), footprints.end()), footprints.end());
    for (const std::uint64_t bytes : footprints) {
      if (bytes <= bank) continue;
      plan.push_back(banks_check(session, bytes, line_bytes, front_line_bytes));
      first_of.emplace(std::pair(plan.back().modules, plan.back().launch.front().phases.size()), plan.size() - 1);
    }
    std::size_t moved = 0;
    for (const auto& [kind, index] : first_of) {
      add_empties(plan, index + moved, 2);
      moved += 2;
    }
  }
  const std::uint64_t count = plan.empty() ? 12 : 4;
  const std::size_t others = plan.size();
  for (std::uint64_t i = 1; i <= count; ++i)
    plan.push_back(code_check(
        session, std::max(front_line_bytes, bank * i / count / front_line_bytes * front_line_bytes), front_line_bytes));
  add_empties(plan, others, 4);
  return plan;
}

std::vector<PlannedCheck> plan_instructions(Session& session, std::string_view id, std::uint64_t capacity_bytes,
                                            std::uint64_t line_bytes) {
  // What the launches before left in caches of code stays: a lap brings them into their steady state.
  constexpr std::uint32_t unsteady_laps = 2;
  const CachePath path{id, program::Path::instruction, slot_code};
  std::vector<PlannedCheck> plan;
  for (const std::uint64_t bytes : check_footprints(capacity_bytes, line_bytes, session.info().code_bytes)) {
    Program p = make_program(fmt::format("{} cross-check {} B", id, bytes), session.info(), path.slot);
    p.isolation = Scope::gpu;
    const Walk walk = make_walk(path, bytes, line_bytes, 1);
    p.phases = {recorded(walk, Record::histogram, unsteady_laps), recorded(walk, Record::histogram, recorded_laps)};
    plan.push_back({Shape::recorded, bytes, 0, {}, {std::move(p)}, 1, 1, false});
  }
  add_empties(plan, 0, 4);
  return plan;
}

std::vector<PlannedCheck> plan_l2(Session& session, std::uint64_t capacity_bytes, std::uint64_t stride_bytes) {
  std::vector<PlannedCheck> plan;
  constexpr std::array<std::uint64_t, 12> sixteenths{1, 4, 6, 7, 8, 9, 10, 12, 14, 16, 24, 32};
  const std::uint64_t most = std::min(2 * capacity_bytes, session.info().largest_buffer_bytes / 2);
  for (const std::uint64_t part : sixteenths) {
    const std::uint64_t bytes = std::min(most, capacity_bytes * part / 16) / stride_bytes * stride_bytes;
    Program warm = make_program(fmt::format("l2 cross-check {} B, warm-up", bytes), session.info(), slot_flush);
    warm.isolation = Scope::gpu;
    warm.buffers[slot_flush].size_bytes = std::max(most, slot_bytes);
    Walk walk = make_walk(l2_path, bytes, stride_bytes, 2);
    Program sample = warm;
    sample.label = fmt::format("l2 cross-check {} B", bytes);
    Walk timed = recorded(walk, Record::histogram, 1);
    timed.order = program::Order::shuffled;
    timed.order_seed = session.settings().seed;
    timed.loads_per_lap = std::min(sampled_loads, program::positions(timed));
    walk.lanes = std::max<std::uint32_t>(1, session.info().warps_per_block * 32);
    warm.phases = {walk};
    sample.phases = {timed};
    plan.push_back({Shape::sampled, bytes, 0, {warm}, {std::move(sample)}, 1, 0, false});
  }
  add_empties(plan, 0, 3);
  return plan;
}

std::vector<PlannedCheck> plan_device_memory(Session& session, std::uint64_t l2_bytes, std::uint64_t stride_bytes) {
  std::vector<PlannedCheck> plan;
  const std::uint64_t flush = std::max<std::uint64_t>(4 * l2_bytes, 8 << 20);
  const std::uint64_t readers = std::max<std::uint32_t>(1, session.info().gpu.sm_count);
  constexpr std::uint64_t count = 8;
  // A reader. What else the memory does meanwhile comes to some thousand sectors a launch, whatever the footprint:
  // large ones keep it far below the tolerance.
  constexpr std::uint64_t most_loads = 49152;
  const std::uint64_t room = session.info().largest_buffer_bytes / 2;
  const std::uint64_t fit = (room > flush ? room - flush : 0) / readers / stride_bytes;
  const std::uint64_t loads = std::min(most_loads, fit);
  if (loads < 2 * count) return plan;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t part = loads * (count + i + 1) / (2 * count) * stride_bytes;
    Program p = make_program("", session.info(), slot_flush);
    p.label = fmt::format("device memory cross-check {} B", part * readers);
    p.buffers[slot_flush].size_bytes = flush + readers * loads * stride_bytes;
    Program before = p;
    before.label += ", flush";
    before.isolation = Scope::gpu;
    before.phases = {by_all_lanes(make_walk(l2_path, flush, 128, 1), session.info())};
    program::Batch launch;
    for (std::uint64_t reader = 0; reader < readers; ++reader) {
      Walk cold = recorded(make_walk(l2_path, part, stride_bytes, 1), Record::histogram, 1);
      cold.first_byte = flush + reader * part;
      p.phases = {cold};
      launch.push_back(p);
    }
    plan.push_back({Shape::sampled, part * readers, 0, {before}, std::move(launch), 1, 0, false});
  }
  add_empties(plan, 0, 3);
  return plan;
}

}  // namespace gputopo::experiments
