#include "evidence/chip/l2_pages.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "evidence/looks/latency.hpp"

namespace gputopo::evidence {
namespace {

constexpr std::uint64_t side_page_bytes = 4096, side_line_bytes = 128;
constexpr std::uint64_t side_pages = 48, side_lines = side_page_bytes / side_line_bytes;

// In a row: whether sides take turns by pages or by two of them, all are among these.
program::Program once_more_each_line(const Session& session, std::uint32_t sm, std::uint64_t first_byte) {
  program::Program p = make_program(fmt::format("l2 pages as SM {} sees them", sm), session.info(), slot_flush);
  p.isolation = Scope::gpu;
  p.agents = {{sm, 0}};
  constexpr std::uint32_t laps_in_all = 2;
  program::Walk walk = recorded(make_walk(l2_path, side_pages * side_page_bytes, side_line_bytes, laps_in_all),
                                program::Record::latencies, laps_in_all);
  walk.first_byte = first_byte;
  p.phases = {walk};
  return p;
}

using Rows = std::vector<std::vector<double>>;

}  // namespace

Expected<std::optional<Rows>> hits_of_pages(Session& session, const std::vector<std::uint32_t>& sms, const Levels& l2,
                                            double overhead_cycles) {
  const std::uint64_t region = session.fresh_region(slot_flush, (side_pages + 1) * side_page_bytes);
  const std::uint64_t first = (region + side_page_bytes - 1) / side_page_bytes * side_page_bytes;
  constexpr double nearly_all = 0.9;
  Rows by_sm;
  double hits = 0, lines = 0;
  for (const std::uint32_t sm : sms) {
    auto traces = if_available(session.run(program::Batch(looks_at_a_line, once_more_each_line(session, sm, first))));
    if (!traces) return tl::unexpected<Error>(traces.error());
    if (!*traces) return std::optional<Rows>();
    LooksByLine looks(side_pages * side_lines);
    for (const auto& trace : **traces)
      for (std::size_t line = 0; line < looks.size(); ++line) looks[line].push_back(trace.phases[0].latencies.at(line));
    std::vector<double> by_line = undisturbed_by_line(std::move(looks));
    // Lines that are far are hits as well, though some may take as long as what was lost.
    for (double& cycles : by_line) {
      hits += cycles < l2.threshold_cycles ? 1 : 0, ++lines;
      cycles -= overhead_cycles;
    }
    by_sm.push_back(std::move(by_line));
  }
  if (hits < nearly_all * lines) return std::optional<Rows>();
  return std::optional(std::move(by_sm));
}

std::vector<Rows> stretches_of(const Rows& by_sm) {
  std::vector<Rows> all;
  for (std::size_t lines = side_lines; lines > 0; lines /= 2) {
    Rows& stretches = all.emplace_back();
    for (const auto& by_line : by_sm) {
      auto& means = stretches.emplace_back();
      for (std::size_t line = 0; line + lines <= by_line.size(); line += lines)
        means.push_back(std::accumulate(&by_line[line], &by_line[line] + lines, 0.0) / static_cast<double>(lines));
    }
  }
  return all;
}

}  // namespace gputopo::evidence
