#include "evidence/organisation/line_times.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "evidence/looks/latency.hpp"
#include "program/order.hpp"

namespace gputopo::evidence {

namespace {

// A line's looks in one order, all of which came after the same other variant of it.
constexpr std::uint32_t laps = 4;

// The orders in which all of them come after others: a power of two has them by odd steps.
constexpr std::array<std::uint64_t, 4> steps{1, 3, 5, 7};
static_assert(LineTimes::variants == 2 * steps.size());

}  // namespace

// One lap before the others brings lines and translation in.
program::Program LineTimes::program_of(std::uint64_t line) const {
  program::Program p = make_program(fmt::format("{} line {} alone", path_.id, line), session_->info(), path_.slot);
  p.isolation = Scope::gpu;
  p.agents = {{sm_, 0}};
  for (const std::uint64_t step : steps) {
    program::Walk walk =
        recorded(make_walk(path_, variants * line_bytes_, line_bytes_, 1), program::Record::latencies, 1);
    walk.first_byte = line * stride_bytes_;
    walk.loads_per_lap = variants * (1 + laps);
    walk.order = program::Order::skipping;
    walk.order_seed = step;
    p.phases.emplace_back(walk);
  }
  return p;
}

Expected<void> LineTimes::learn(const Circle& circle) {
  constexpr std::size_t most_at_once = 256;
  std::vector<std::uint64_t> unknown;
  for (std::uint64_t line = circle.first; line < circle.first + circle.lines; ++line)
    if (!cycles_.contains(line)) unknown.push_back(line);
  for (std::size_t done = 0; done < unknown.size(); done += most_at_once) {
    const std::size_t end = std::min(unknown.size(), done + most_at_once);
    program::Batch batch;
    for (std::size_t i = done; i < end; ++i) batch.push_back(program_of(unknown[i]));
    auto traces = session_->run(batch);
    if (!traces) return tl::unexpected<Error>(traces.error());
    for (std::size_t i = done; i < end; ++i) keep(unknown[i], (*traces)[i - done]);
  }
  return {};
}

// Single loads differ by as much as a level of translation takes; what they take together must not.
void LineTimes::keep(std::uint64_t line, const program::ProgramTrace& trace) {
  std::array<double, variants>& own = cycles_[line];
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::vector<std::uint32_t>& latencies = trace.phases[i].latencies;
    std::array<std::vector<double>, variants> looks;
    std::uint64_t variant = 0;
    for (std::size_t k = 0; k < latencies.size(); ++k, variant = program::advance(variant, steps[i], variants))
      if (k >= variants) looks[variant].push_back(latencies[k]);
    for (std::uint64_t v = 0; v < variants; ++v) own[v] += middle_half(looks[v]) / steps.size();
  }
}

}  // namespace gputopo::evidence
