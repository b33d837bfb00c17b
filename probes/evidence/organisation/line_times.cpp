#include "evidence/organisation/line_times.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "evidence/looks/latency.hpp"
#include "program/order.hpp"

namespace gputopo::evidence {
namespace {

// Recorded of each order.
constexpr std::uint32_t own_laps = 4;

// Two words of each variant in a row, and how many words on the next load is: one variant on or two, three or four.
constexpr std::uint64_t own_words = 2;
constexpr std::array<std::uint64_t, 2> orders{3, 7};

}  // namespace

// One lap before the others brings lines and translation in.
program::Program LineTimes::program_of(std::uint64_t line) const {
  program::Program p = make_program(fmt::format("{} line {} alone", path_.id, line), session_->info(), path_.slot);
  p.isolation = Scope::gpu;
  p.agents = {{sm_, 0}};
  for (const std::uint64_t order : orders) {
    program::Walk walk =
        recorded(make_walk(path_, variants * line_bytes_, line_bytes_ / own_words, 1), program::Record::latencies, 1);
    walk.first_byte = line * stride_bytes_;
    walk.loads_per_lap = variants * own_words * (1 + own_laps);
    walk.order = program::Order::skipping;
    walk.order_seed = order;
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
  constexpr std::uint64_t places = variants * own_words;
  for (std::size_t i = 0; i < orders.size(); ++i) {
    const std::vector<std::uint32_t>& latencies = trace.phases[i].latencies;
    std::array<std::vector<double>, places> looks;
    std::uint64_t place = 0;
    for (std::size_t k = 0; k < latencies.size(); ++k, place = program::advance(place, orders[i], places))
      if (k >= places) looks[place].push_back(latencies[k]);
    for (std::uint64_t p = 0; p < places; ++p)
      own[p / own_words] += middle_half(looks[p]) / static_cast<double>(own_words * orders.size());
  }
}

}  // namespace gputopo::evidence
