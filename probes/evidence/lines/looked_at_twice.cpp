#include "evidence/lines/looked_at_twice.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "evidence/lines/l2_lost.hpp"
#include "evidence/lines/l2_sector.hpp"
#include "evidence/looks/flush.hpp"

namespace gputopo::evidence {
namespace {

using program::Walk;

constexpr std::uint64_t stride = in_a_small_page.stride_bytes;

// So many lines from `first` on, one after another.
program::Program looks_at(const Session& session, std::string label, std::uint64_t first, std::uint64_t lines) {
  program::Program p = make_program(std::move(label), session.info(), slot_flush);
  p.isolation = Scope::gpu;
  p.agents = {{0, 0}};
  p.buffers[slot_flush].size_bytes = std::max(first + lines * stride, slot_bytes);
  Walk look = make_walk(l2_path, cold_word_bytes, cold_word_bytes, 1);
  look.first_byte = first;
  for (std::uint64_t line = 0; line < lines; ++line, look.first_byte += stride)
    p.phases.insert(p.phases.end(), 2, recorded(look, program::Record::latencies, 1));
  return p;
}

// The last of a program's phases, two a line.
void add_pairs(const program::ProgramTrace& trace, std::uint64_t first, std::uint64_t lines,
               std::vector<LoadPair>& pairs) {
  const std::size_t begin = trace.phases.size() - 2 * lines;
  for (std::size_t line = 0; line < lines; ++line)
    if (in_a_small_page.is_translated(first, line))
      pairs.push_back(
          {trace.phases[begin + 2 * line].latencies.at(0), trace.phases[begin + 2 * line + 1].latencies.at(0)});
}

}  // namespace

Expected<std::vector<LoadPair>> time_flushed_twice(Session& session, std::uint64_t flush_bytes, std::uint64_t lines,
                                                   std::size_t times) {
  const program::Program p = looks_at(session, "l2 lines twice", flush_bytes, lines);
  program::Program translate = p;
  Walk all = make_walk(l2_path, lines * stride, stride, 1);
  all.first_byte = flush_bytes;
  translate.phases = {all};
  std::vector<LoadPair> pairs;
  for (std::size_t i = 0; i < times; ++i) {
    auto traces = session.run_in_order([&] {
      return std::vector<program::Batch>{
          {translate}, flush_batch(session.info(), flush_bytes, p.buffers[slot_flush].size_bytes), {p}};
    });
    if (!traces) return tl::unexpected<Error>(traces.error());
    add_pairs(traces->back(), flush_bytes, lines, pairs);
  }
  return pairs;
}

Expected<std::optional<std::vector<LoadPair>>> time_lost_twice(Session& session, std::uint64_t l2_bytes,
                                                               std::uint64_t most_lines, std::size_t times) {
  using Pairs = std::optional<std::vector<LoadPair>>;
  if (l2_bytes == 0 || l2_bytes > session.info().largest_buffer_bytes / 2) return Pairs();
  constexpr std::uint64_t every_sector = 32;
  const std::uint64_t evicting = evicting_bytes(l2_bytes), lines = std::min(most_lines, lost_lines(l2_bytes));
  program::Program p = looks_at(session, fmt::format("l2 lines twice behind {} KiB", l2_bytes >> 10), evicting, lines);
  Walk all = make_walk(l2_path, lines * stride, stride, 1);
  all.first_byte = evicting;
  const Walk evict = by_all_lanes(make_walk(l2_path, evicting, every_sector, 1), session.info());
  p.phases.insert(p.phases.begin(), {all, evict});
  auto traces = if_available(session.run(program::Batch(times * most_lines / lines, p)));
  if (!traces) return tl::unexpected<Error>(traces.error());
  if (!*traces) return Pairs();
  std::vector<LoadPair> pairs;
  for (const auto& trace : **traces) add_pairs(trace, evicting, lines, pairs);
  return Pairs(std::move(pairs));
}

}  // namespace gputopo::evidence
