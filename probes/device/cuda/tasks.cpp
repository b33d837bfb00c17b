#include "device/cuda/tasks.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "device/cuda/control.hpp"
#include "program/order.hpp"

namespace gputopo::device::cuda {
namespace {

using kernels::Result;
using kernels::Task;
using program::Program;
using program::Record;
using program::Space;
using program::Walk;

// Places of the words that chases are laid into are counted in 32 bits; addresses aren't.
bool fits_32_bits(const Walk& walk) {
  constexpr std::uint64_t limit = std::numeric_limits<std::uint32_t>::max();
  const bool counts_words = walk.record == Record::lap_time || walk.record == Record::lap_times;
  return program::positions(walk) < limit && program::lap_loads(walk) * walk.laps < limit &&
         walk.stride_bytes / 4 < limit && (!counts_words || (walk.first_byte + walk.footprint_bytes) / 4 < limit);
}

std::uint64_t shared_size(const program::Buffer& buffer) {
  return buffer.space == Space::shared ? (buffer.size_bytes + 15) / 16 * 16 : 0;
}

// Jumps that the agent makes without running anything else.
std::uint64_t jumps_of_one(const Program& program, const Walk& fill) {
  const auto at = std::find_if(program.phases.begin(), program.phases.end(),
                               [&](const program::Phase& p) { return std::get_if<Walk>(&p) == &fill; });
  const auto index = static_cast<std::size_t>(at - program.phases.begin());
  std::uint64_t jumps = 1;
  for (std::size_t i = index; i <= program::held_phases(program, index).look; ++i) {
    const auto& walk = std::get<Walk>(program.phases[i]);
    if (program.agents[walk.agent] == program.agents[fill.agent]) jumps += program::lap_loads(walk) * walk.laps;
  }
  return jumps;
}

Expected<void> check_walk(const Program& program, const Walk& walk, const DeviceInfo& info) {
  const auto bad = [&](const std::string& why) {
    return fail(Error::Kind::bad_input, fmt::format("program '{}' {}", program.label, why));
  };
  if (walk.holds && jumps_of_one(program, walk) > kernels::held_jumps)
    return bad(fmt::format("holds code over more than {} jumps", kernels::held_jumps));
  if (!fits_32_bits(walk)) return bad("walks more loads than one phase can count");
  if (walk.record == Record::latencies && program::lap_loads(walk) > kernels::latency_entries)
    return bad(fmt::format("records {} latencies, at most {} fit", program::lap_loads(walk), kernels::latency_entries));
  if (walk.record == Record::lap_times && walk.laps > kernels::lap_entries)
    return bad(fmt::format("times {} laps one by one, at most {} fit", walk.laps, kernels::lap_entries));
  const program::Buffer& buffer = program.buffers[walk.buffer];
  if (buffer.space == Space::constant &&
      (buffer.module >= info.constant_modules || buffer.size_bytes > info.constant_bytes_per_module))
    return bad("wants a constant buffer that isn't to be had");
  if (buffer.space == Space::code &&
      (walk.stride_bytes % kernels::code_block_bytes != 0 || walk.first_byte % kernels::code_block_bytes != 0 ||
       walk.first_byte + walk.footprint_bytes > info.code_bytes))
    return bad("jumps to where no block of code begins");
  if (walk.path == program::Path::texture && !program::texture_part(walk, info.texture_elements))
    return bad("walks past the largest linear texture");
  return {};
}

std::uint64_t place_of(const Program& program, const Walk& walk, const ReadyBuffers& buffers, std::uint64_t part) {
  switch (program.buffers[walk.buffer].space) {
    case Space::constant:
    case Space::code:
      break;
    case Space::shared: {
      std::uint64_t offset = 0;
      for (std::uint32_t i = 0; i < walk.buffer; ++i) offset += shared_size(program.buffers[i]);
      return offset;
    }
    case Space::global:
      return walk.path == program::Path::texture ? buffers.at(walk.buffer).textures.at(part)
                                                 : buffers.at(walk.buffer).address;
  }
  return 0;
}

void set_walk(Task& task, const Program& program, const Walk& walk, const ReadyBuffers& buffers,
              const DeviceInfo& info) {
  const auto stepping = program::stepping(walk.order, walk.order_seed, program::positions(walk));
  const std::uint64_t part =
      walk.path == program::Path::texture ? program::texture_part(walk, info.texture_elements).value_or(0) : 0;
  task.buffer = place_of(program, walk, buffers, part);
  task.kind = kernels::task_walk;
  task.path = static_cast<std::uint32_t>(walk.path);
  task.record = static_cast<std::uint32_t>(recorded_as(walk));
  task.lanes = std::min(walk.lanes, kernels::block_threads);
  task.warp = program.agents[walk.agent].warp;
  task.laps = walk.laps;
  task.loads = static_cast<std::uint32_t>(program::lap_loads(walk) - walk.lead_loads);
  task.positions = static_cast<std::uint32_t>(program::positions(walk));
  task.stride_words = static_cast<std::uint32_t>(walk.stride_bytes / 4);
  task.first_position = static_cast<std::uint32_t>(stepping.first);
  task.step = static_cast<std::uint32_t>(stepping.step);
  if (walk.lead_loads != 0) {
    const std::uint64_t n = program::positions(walk);
    task.lead = static_cast<std::uint32_t>(walk.lead_loads);
    task.lead_first = task.first_position;
    task.lead_step = task.step;
    if (walk.tail_step != 0) {
      task.first_position = static_cast<std::uint32_t>(walk.tail_first);
      task.step = static_cast<std::uint32_t>(walk.tail_step);
    } else {
      task.first_position = static_cast<std::uint32_t>((stepping.first + walk.lead_loads % n * stepping.step) % n);
    }
  }
  if (part != 0) {
    task.lead = static_cast<std::uint32_t>(program::lap_loads(walk));
    task.lead_first = task.first_position;
    task.lead_step = task.step;
    task.loads = 0;
  }
  task.first_byte = walk.first_byte - part * 4 * info.texture_elements;
  if (has_wide_words(walk)) task.flags |= kernels::task_wide;
  if (walk.holds) task.flags |= kernels::task_holds;
}

std::uint64_t units_of(const program::Execute& execute, const DeviceInfo& info) {
  return (execute.code_bytes + info.execute_unit_bytes - 1) / info.execute_unit_bytes;
}

Expected<void> check_code(const Program& program, const program::Execute& execute, const DeviceInfo& info) {
  const std::uint64_t units = units_of(execute, info);
  if (units > kernels::code_units)
    return fail(Error::Kind::bad_input, fmt::format("program '{}' executes {} bytes, at most {} can be had",
                                                    program.label, execute.code_bytes, info.execute_limit_bytes));
  if (execute.timed && units * execute.laps > kernels::latency_entries)
    return fail(Error::Kind::bad_input, fmt::format("program '{}' times {} units of code, at most {} fit",
                                                    program.label, units * execute.laps, kernels::latency_entries));
  return {};
}

void set_code(Task& task, const Program& program, const program::Execute& execute, const DeviceInfo& info) {
  task.kind = kernels::task_execute;
  task.warp = program.agents[execute.agent].warp;
  task.units = static_cast<std::uint32_t>(units_of(execute, info));
  task.laps = execute.laps;
  task.loads = task.units;
  task.record = static_cast<std::uint32_t>(execute.timed ? Record::latencies : Record::nothing);
}

}  // namespace

Expected<void> check(const program::Batch& batch, const PlannedLaunch& launch, const DeviceInfo& info) {
  for (const PlannedPhase& planned : launch.phases) {
    const Program& program = batch[planned.program];
    const program::Phase& phase = program.phases[planned.phase];
    if (const auto* walk = std::get_if<Walk>(&phase)) {
      if (auto ok = check_walk(program, *walk, info); !ok) return ok;
    } else if (auto ok = check_code(program, std::get<program::Execute>(phase), info); !ok) {
      return ok;
    }
  }
  return {};
}

BufferNeeds needs_of(const program::Batch& batch, const PlannedLaunch& launch, const DeviceInfo& info) {
  BufferNeeds needs;
  for (const PlannedPhase& planned : launch.phases) {
    const Program& program = batch[planned.program];
    const program::Phase& phase = program.phases[planned.phase];
    const auto* walk = std::get_if<Walk>(&phase);
    if (walk == nullptr || program.buffers[walk->buffer].space != Space::global) continue;
    BufferNeed& need = needs[walk->buffer];
    need.bytes = std::max(need.bytes, program.buffers[walk->buffer].size_bytes);
    if (walk->path == program::Path::texture)
      if (const auto part = program::texture_part(*walk, info.texture_elements)) need.texture_parts.insert(*part);
    if (laid_chase(phase) != nullptr && walk->path != program::Path::texture && !has_wide_words(*walk))
      need.one_half_bytes = std::max(need.one_half_bytes, walk->first_byte + walk->footprint_bytes);
  }
  return needs;
}

std::uint64_t shared_bytes_of(const program::Batch& batch, const PlannedLaunch& launch) {
  std::uint64_t most = 0;
  for (const std::size_t p : launch.programs) {
    std::uint64_t bytes = 0;
    for (const program::Buffer& buffer : batch[p].buffers) bytes += shared_size(buffer);
    most = std::max(most, bytes);
  }
  return most;
}

std::vector<Task> make_tasks(const program::Batch& batch, const PlannedLaunch& launch, const DeviceInfo& info,
                             const ResultSlots& slots, const LaunchAddresses& addresses) {
  const ControlLayout layout(launch.modules * info.gpu.sm_count, launch.phases.size());
  std::vector<Task> tasks(launch.phases.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const PlannedPhase& planned = launch.phases[i];
    const Program& program = batch[planned.program];
    const program::Phase& phase = program.phases[planned.phase];
    Task& task = tasks[i];
    task.wait_value = planned.wait_value;
    task.post_value = planned.post_value;
    task.counter = addresses.control + layout.counter;
    if (slots.of_phase[i]) task.result = addresses.results + *slots.of_phase[i] * sizeof(Result);
    if (const auto* walk = std::get_if<Walk>(&phase))
      set_walk(task, program, *walk, addresses.buffers, info);
    else
      set_code(task, program, std::get<program::Execute>(phase), info);
  }
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if ((tasks[i].flags & kernels::task_holds) == 0) continue;
    const PlannedPhase& planned = launch.phases[i];
    tasks[i + program::held_phases(batch[planned.program], planned.phase).look - planned.phase].flags |=
        kernels::task_looks;
  }
  return tasks;
}

}  // namespace gputopo::device::cuda
