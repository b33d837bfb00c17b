// Which SMs have one L2? Those that find in it what another SM brought in.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "evidence/flush.hpp"
#include "evidence/structure.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;
using program::Record;
using program::Walk;

constexpr std::string_view method = "hits_by_other_sms";
constexpr std::uint64_t lines = 64;
constexpr std::uint64_t stride_bytes = 1152;
constexpr std::uint64_t beside_bytes = 512;  // another line of the same page, between two that are looked at

// SM `owner` brings lines in that nobody has touched, a set of its own for each of `others`, which look at them once.
program::Program look_program(Session& session, std::uint32_t owner, const std::vector<std::uint32_t>& others) {
  program::Program p =
      make_program(fmt::format("l2 lines of SM {} as others find them", owner), session.info(), slot_flush);
  p.isolation = Scope::gpu;
  p.agents = {{owner, 0}};
  const std::uint64_t bytes = lines * stride_bytes;
  const auto walk = [&](std::uint32_t agent, std::uint64_t at) {
    Walk w = make_walk(l2_path, bytes, stride_bytes, 1);
    w.agent = agent;
    w.first_byte = at;
    return w;
  };
  for (const std::uint32_t sm : others) {
    p.agents.push_back({sm, 0});
    const auto agent = static_cast<std::uint32_t>(p.agents.size() - 1);
    const std::uint64_t at = session.fresh_region(slot_flush, bytes + beside_bytes);
    p.phases.emplace_back(walk(0, at));
    // Other lines of the same pages, which nobody has brought in: what this SM's loads of memory take.
    p.phases.emplace_back(walk(agent, at + 2 * beside_bytes / 4));  // translates
    p.phases.emplace_back(recorded(walk(agent, at + beside_bytes), Record::histogram, 1));
    p.phases.emplace_back(recorded(walk(agent, at), Record::histogram, 1));
  }
  return p;
}

}  // namespace

Expected<void> measure_l2_scope(Session& session, Findings& findings) {
  const CacheFacts* l2 = findings.cache("l2");
  if (l2 == nullptr || !l2->present) return {};
  Memory& memory = findings.memory("l2");
  constexpr std::size_t together = 16;
  const std::uint32_t sms = session.info().gpu.sm_count;
  std::vector<std::uint32_t> open(sms);
  std::iota(open.begin(), open.end(), 0U);
  SmSets groups;
  std::uint64_t samples = 0;
  while (!open.empty()) {
    std::vector<std::uint32_t> group{open.front()};
    open.erase(open.begin());
    const std::vector<std::uint32_t> others = open;
    for (std::size_t from = 0; from < others.size(); from += together) {
      const std::vector<std::uint32_t> some(
          others.begin() + static_cast<std::ptrdiff_t>(from),
          others.begin() + static_cast<std::ptrdiff_t>(std::min(from + together, others.size())));
      auto traces = session.run_in_order(
          [&] { return std::vector<program::Batch>{{look_program(session, group.front(), some)}}; });
      if (!traces) return tl::unexpected<Error>(traces.error());
      for (std::size_t i = 0; i < some.size(); ++i) {
        const auto& of_memory = traces->front().phases[4 * i + 2].histogram;
        const auto& seen = traces->front().phases[4 * i + 3].histogram;
        samples += total(seen) + total(of_memory);
        const double median_seen = quantile(seen, 0.5).value_or(0);
        const double median_memory = quantile(of_memory, 0.5).value_or(0);
        // Lines that nobody brought in come from memory, on the same SM, of the same pages: what another one brought in
        // is no different where that one has an L2 of its own.
        constexpr double by_chance = 1e-6, surely_not = 1e-2;
        const double doubt = levels_of(seen, of_memory).doubt;
        const bool found =
            median_seen < l2->levels.threshold_cycles || (doubt < by_chance && median_seen < median_memory);
        const bool missing = doubt > surely_not || median_seen >= median_memory;
        if (!found && missing && median_memory >= l2->levels.threshold_cycles) continue;
        if (!found) {
          leave_scope_open(memory, method,
                           fmt::format("SM {} finds some of what SM {} brought in", some[i], group.front()));
          return {};
        }
        group.push_back(some[i]);
        std::erase(open, some[i]);
      }
    }
    groups.push_back(std::move(group));
  }
  set_scope(memory, groups, method, 0.99, samples);
  return {};
}

}  // namespace gputopo::experiments
