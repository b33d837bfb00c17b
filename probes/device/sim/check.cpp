#include "device/sim/check.hpp"

#include <fmt/format.h>

#include "program/kernel.hpp"

namespace gputopo::sim {
namespace {

using device::DeviceInfo;
using program::Buffer;
using program::Path;
using program::Program;
using program::Space;

constexpr std::size_t most_buffers = 4096;

tl::unexpected<Error> bad(const Program& p, std::string_view why, std::string_view remedy) {
  return fail(Error::Kind::bad_input, fmt::format("program '{}': {}; {}", p.label, why, remedy));
}

tl::unexpected<Error> lacking(const Program& p, std::string_view what) {
  return fail(Error::Kind::unavailable,
              fmt::format("program '{}': this GPU has no {}; leave that measurement out", p.label, what));
}

Expected<void> check_buffers(const Program& p, const DeviceInfo& info) {
  if (p.buffers.size() > most_buffers) return bad(p, "has over 4096 buffers", "use fewer");
  std::uint64_t global = 0;
  std::uint64_t shared = 0;
  for (const Buffer& b : p.buffers) {
    if (b.space == Space::global && b.size_bytes > info.largest_buffer_bytes)
      return bad(p, fmt::format("a buffer of {} B is over the limit of {} B", b.size_bytes, info.largest_buffer_bytes),
                 "make it smaller");
    if (b.space == Space::constant && info.constant_modules == 0) return lacking(p, "constant memory");
    if (b.space == Space::constant && b.size_bytes > info.constant_bytes_per_module)
      return bad(p, fmt::format("a constant bank holds {} B", info.constant_bytes_per_module), "use several modules");
    if (b.space == Space::constant && b.module >= info.constant_modules)
      return bad(p, fmt::format("there are {} constant modules", info.constant_modules), "use fewer");
    if (b.space == Space::shared && info.shared_bytes_per_block == 0) return lacking(p, "shared memory");
    if (b.space == Space::code && info.code_bytes == 0) return lacking(p, "code to walk over");
    if (b.space == Space::code && b.size_bytes > info.code_bytes)
      return bad(p, fmt::format("there are {} B of code", info.code_bytes), "use less");
    if (b.space == Space::global) global += b.size_bytes;
    if (b.space == Space::shared) shared += b.size_bytes;
    if (shared > info.shared_bytes_per_block)
      return bad(p, fmt::format("a block has {} B of shared memory", info.shared_bytes_per_block), "use less");
    if (global > info.memory_bytes)
      return bad(p, fmt::format("the device memory has {} B", info.memory_bytes), "use smaller buffers");
  }
  return {};
}

Expected<void> check_phase(const Program& p, const program::Walk& w, const DeviceInfo& info) {
  if (w.path == Path::global_no_allocate && !info.has_no_allocate) return lacking(p, "non-allocating loads");
  if (w.path == Path::read_only && !info.has_read_only) return lacking(p, "read-only path");
  if (w.path == Path::instruction &&
      (w.stride_bytes % info.code_block_bytes != 0 || w.first_byte % info.code_block_bytes != 0))
    return bad(p, "jumps to where no block of code begins", "use whole blocks");
  if (w.path == Path::texture && info.texture_elements == 0) return lacking(p, "texture path");
  if (w.path == Path::texture && !program::texture_part(w, info.texture_elements))
    return bad(p, fmt::format("a texture has {} elements of 4 B", info.texture_elements), "walk less");
  if (w.record == program::Record::latencies && program::lap_loads(w) > info.largest_recording)
    return bad(p, fmt::format("records over {} latencies", info.largest_recording), "record fewer loads");
  return {};
}

Expected<void> check_phase(const Program& p, const program::Execute& e, const DeviceInfo& info) {
  if (!info.has_execute) return lacking(p, "executable code path");
  if (e.code_bytes > info.execute_limit_bytes)
    return bad(p, fmt::format("executes over {} B", info.execute_limit_bytes), "execute less code");
  const std::uint64_t units = (e.code_bytes + info.execute_unit_bytes - 1) / info.execute_unit_bytes;
  if (e.timed && units * e.laps > info.largest_recording)
    return bad(p, fmt::format("times over {} units of code", info.largest_recording), "time fewer laps");
  return {};
}

}  // namespace

Expected<void> check(const Program& p, const DeviceInfo& info) {
  if (auto ok = program::validate(p); !ok) return ok;
  if (auto ok = program::fits_a_kernel(p); !ok) return ok;
  for (const program::Agent& a : p.agents) {
    if (a.sm && *a.sm >= info.gpu.sm_count)
      return bad(p, fmt::format("names SM {}, but there are {}", *a.sm, info.gpu.sm_count), "name a smaller one");
    if (a.warp >= info.warps_per_block)
      return bad(p, fmt::format("names warp {}, but a block has {}", a.warp, info.warps_per_block),
                 "name a smaller one");
  }
  if (auto ok = check_buffers(p, info); !ok) return ok;
  for (const program::Phase& phase : p.phases)
    if (auto ok = std::visit([&](const auto& x) { return check_phase(p, x, info); }, phase); !ok) return ok;
  return {};
}

}  // namespace gputopo::sim
