#include "evidence/chip/sm_latencies.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace gputopo::evidence {

Expected<std::vector<std::vector<double>>> latencies_by_sm(Session& session, std::size_t lines,
                                                           std::size_t repetitions) {
  program::Batch batch;
  for (std::uint32_t sm = 0; sm < session.info().gpu.sm_count; ++sm) {
    program::Program p = make_program(fmt::format("l2 latencies of SM {}", sm), session.info(), slot_flush);
    p.isolation = Scope::gpu;
    p.agents = {{sm, 0}};
    const program::Walk walk = make_walk(l2_path, lines * seen_line_bytes, seen_line_bytes, 1);
    p.phases = {by_all_lanes(walk, session.info())};
    p.phases.insert(p.phases.end(), repetitions, recorded(walk, program::Record::latencies, 1));
    batch.push_back(std::move(p));
  }
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  std::vector<std::vector<double>> least;
  for (const auto& trace : *traces) {
    auto& of_sm = least.emplace_back(lines, std::numeric_limits<double>::max());
    for (std::size_t lap = 1; lap <= repetitions; ++lap)
      for (std::size_t line = 0; line < lines; ++line)
        of_sm[line] = std::min<double>(of_sm[line], trace.phases[lap].latencies.at(line));
  }
  return least;
}

std::vector<std::vector<double>> beyond_nearest(std::vector<std::vector<double>> by_sm) {
  for (std::uint64_t line = 0; line < by_sm.front().size(); ++line) {
    double nearest = by_sm.front()[line];
    for (const auto& latencies : by_sm) nearest = std::min(nearest, latencies[line]);
    for (auto& latencies : by_sm) latencies[line] -= nearest;
  }
  return by_sm;
}

}  // namespace gputopo::evidence
