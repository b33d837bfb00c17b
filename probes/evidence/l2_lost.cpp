#include "evidence/l2_lost.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "evidence/walks.hpp"

namespace gputopo::evidence {
namespace {

constexpr std::uint64_t most_lost_lines = 384;
constexpr std::uint64_t lost_stride_bytes = 1152;  // as memory's loads are timed (device_memory.cpp)
constexpr std::size_t looks_at_lost = 3;

// With half as much again as the L2 holds that comes after them they fill less than a cache behind has room for, which
// holds twice as much at least, in lines of 256 B at most (docs/domain.md).
std::uint64_t lost_lines(std::uint64_t l2_bytes) {
  constexpr std::uint64_t largest_line = 256, fewest = 32;
  return std::clamp(l2_bytes / 4 / largest_line, fewest, most_lost_lines);
}

program::Program just_lost(Session& session, std::uint64_t l2_bytes) {
  program::Program p = make_program(fmt::format("l2 lines behind {} KiB", l2_bytes >> 10), session.info(), slot_flush);
  p.isolation = Scope::gpu;
  const std::uint64_t evicting = l2_bytes * 3 / 2;
  p.buffers[slot_flush].size_bytes = std::max(evicting + most_lost_lines * lost_stride_bytes, slot_bytes);
  const program::Walk evict = by_all_lanes(make_walk(l2_path, evicting, 32, 1), session.info());
  program::Walk look = make_walk(l2_path, lost_lines(l2_bytes) * lost_stride_bytes, lost_stride_bytes, 1);
  look.first_byte = evicting;
  p.phases = {look, evict, recorded(look, program::Record::histogram, 1)};
  return p;
}

}  // namespace

Expected<std::optional<Histogram>> time_just_lost(Session& session, std::uint64_t l2_bytes) {
  if (l2_bytes == 0 || l2_bytes > session.info().largest_buffer_bytes / 2) return std::optional<Histogram>();
  const std::size_t looks = looks_at_lost * most_lost_lines / lost_lines(l2_bytes);
  auto traces = if_available(session.run(program::Batch(looks, just_lost(session, l2_bytes))));
  if (!traces) return tl::unexpected<Error>(traces.error());
  if (!*traces) return std::optional<Histogram>();
  Histogram all;
  for (const auto& trace : **traces) all = merged(all, trace.phases.back().histogram);
  return std::optional(std::move(all));
}

}  // namespace gputopo::evidence
