#include "evidence/memory/open_rows.hpp"

#include <algorithm>
#include <cmath>

#include "evidence/memory/cold_memory.hpp"

namespace gputopo::evidence {
namespace {

constexpr std::uint64_t looked_at_rows = 64;
constexpr std::size_t times_looked = 3;
// Pages of 4 KiB at least, each in a large page and in a set of the L2 of its own.
constexpr std::uint64_t page_apart_bytes = (64 << 10) + (4 << 10);
// In a page: what brings the translation, and two lines behind it in one row of 1 KiB or more.
constexpr std::uint64_t row_bytes = 2304, neighbour_bytes = 256;
constexpr std::uint64_t closing_apart_bytes = (8 << 10) + 384;  // no two of them in one row

std::uint64_t page_place(std::uint64_t i) {
  return i * page_apart_bytes + i / 8 % 8 * 128;  // of as many sets of the L2 as can be
}

// Other rows, as many as leave the L2 most of what brings translations: each closes one, and pushes translations out.
std::uint64_t closing_loads(const Session& session) {
  constexpr std::uint64_t longest_line = 256, few = 64, many = 2048;
  return std::clamp(session.info().l2_bytes / longest_line / 4, few, many);
}

constexpr std::size_t looks_at_a_page = 4;

program::Program looks_at_closed_rows(const ColdMemory& cold, std::uint64_t closing) {
  program::Program p = cold.program("rows closed behind translations that are brought again");
  for (std::uint64_t i = 0; i < looked_at_rows; ++i) p.phases.emplace_back(cold.load(page_place(i)));
  program::Walk close = make_walk(l2_path, closing * closing_apart_bytes, closing_apart_bytes, 1);
  close.first_byte = cold.begin() + looked_at_rows * page_apart_bytes;
  p.phases.emplace_back(close);
  for (std::uint64_t i = 0; i < looked_at_rows; ++i) {
    p.phases.emplace_back(cold.load(page_place(i)));
    const std::uint64_t line = page_place(i) + row_bytes;
    for (const std::uint64_t at : {line, line + neighbour_bytes, line, line + neighbour_bytes})
      p.phases.emplace_back(recorded(cold.load(at), program::Record::latencies, 1));
  }
  return p;
}

}  // namespace

Expected<std::optional<bool>> do_rows_show(Session& session, std::uint64_t flush_bytes) {
  constexpr double least_gain = 10, deviations = 3;  // docs/domain.md
  const std::uint64_t closing = closing_loads(session);
  ColdMemory cold(session, flush_bytes, looked_at_rows * page_apart_bytes + closing * closing_apart_bytes);
  if (!cold.fits()) return std::optional<bool>();
  double later = 0, sooner = 0, as_soon = 0;
  for (std::size_t i = 0; i < times_looked; ++i) {
    auto traces = cold.run({looks_at_closed_rows(cold, closing)});
    if (!traces) return tl::unexpected<Error>(traces.error());
    if (!*traces) return std::optional<bool>();
    std::vector<double> looks;
    for (const program::PhaseTrace& phase : (*traces)->back().phases)
      if (!phase.latencies.empty()) looks.push_back(phase.latencies.front());
    for (std::size_t at = 0; at + looks_at_a_page <= looks.size(); at += looks_at_a_page) {
      // Each less what its hit takes, so that neither lies nearer.
      const double more = (looks[at] - looks[at + 2]) - (looks[at + 1] - looks[at + 3]);
      later += more > least_gain / 2 ? 1 : 0;
      sooner += more < -least_gain / 2 ? 1 : 0;
      as_soon += std::fabs(more) <= least_gain / 2 ? 1 : 0;
    }
  }
  const double by_chance = deviations * std::sqrt(later + sooner);
  if (later - sooner > by_chance) return std::optional(true);
  // Those that came as soon would have been later, and seen: unless others delay nearly all.
  return as_soon > by_chance ? std::optional(false) : std::optional<bool>();
}

}  // namespace gputopo::evidence
