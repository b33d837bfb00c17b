#include "evidence/lines/l2_lost.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "evidence/looks/longest_line.hpp"
#include "evidence/looks/walks.hpp"

namespace gputopo::evidence {
namespace {

constexpr std::uint64_t most_lost_lines = 384;

// Lines that are loaded, and again after a walk of `evicting` bytes with a load every `stride_bytes`.
program::Program loaded_again(Session& session, std::uint64_t l2_bytes, const LinesApart& apart,
                              std::uint64_t stride_bytes) {
  program::Program p = make_program(fmt::format("l2 lines behind {} KiB by {} B", l2_bytes >> 10, stride_bytes),
                                    session.info(), slot_flush);
  p.isolation = Scope::gpu;
  const std::uint64_t evicting = evicting_bytes(l2_bytes);
  p.buffers[slot_flush].size_bytes = std::max(evicting + most_lost_lines * apart.stride_bytes, slot_bytes);
  const program::Walk evict = by_all_lanes(make_walk(l2_path, evicting, stride_bytes, 1), session.info());
  program::Walk look = make_walk(l2_path, lost_lines(l2_bytes) * apart.stride_bytes, apart.stride_bytes, 1);
  look.first_byte = evicting;
  p.phases = {look, evict, recorded(look, program::Record::latencies, 1)};
  return p;
}

// Those in the page of the one before: others have a TLB's miss, which would look like a level behind it.
void add_translated(Histogram& lines, const std::vector<std::uint32_t>& latencies, std::uint64_t first_byte,
                    const LinesApart& apart) {
  for (std::size_t i = 0; i < latencies.size(); ++i)
    if (apart.is_translated(first_byte, i)) add(lines, latencies[i]);
}

// Looks at lines that are loaded again; nothing where there is no room or no time for them.
Expected<std::optional<Histogram>> time_loaded_again(Session& session, std::uint64_t l2_bytes, const LinesApart& apart,
                                                     std::uint64_t stride_bytes) {
  if (l2_bytes == 0 || l2_bytes > session.info().largest_buffer_bytes / 2) return std::optional<Histogram>();
  const std::size_t looks = looks_at_lost_lines * most_lost_lines / lost_lines(l2_bytes);
  const program::Program program = loaded_again(session, l2_bytes, apart, stride_bytes);
  auto traces = if_available(session.run(program::Batch(looks, program)));
  if (!traces) return tl::unexpected<Error>(traces.error());
  if (!*traces) return std::optional<Histogram>();
  Histogram all;
  for (const auto& trace : **traces)
    add_translated(all, trace.phases.back().latencies, evicting_bytes(l2_bytes), apart);
  return std::optional(std::move(all));
}

}  // namespace

std::uint64_t lost_lines(std::uint64_t l2_bytes) {
  constexpr std::uint64_t fewest = 32;
  return std::clamp(l2_bytes / 4 / longest_line_bytes, fewest, most_lost_lines);
}

std::uint64_t evicting_bytes(std::uint64_t l2_bytes) {
  return l2_bytes * 3 / 2;
}

Expected<std::optional<Histogram>> time_just_lost(Session& session, std::uint64_t l2_bytes, const LinesApart& apart) {
  constexpr std::uint64_t every_sector = 32;
  return time_loaded_again(session, l2_bytes, apart, every_sector);
}

Expected<std::optional<Histogram>> time_as_far_kept(Session& session, std::uint64_t l2_bytes, const LinesApart& apart) {
  constexpr std::uint64_t next_line = 128;  // else all of them would be of a few sets
  return time_loaded_again(session, l2_bytes, apart, in_a_small_page.page_bytes + next_line);
}

}  // namespace gputopo::evidence
