#include "experiments/sm_groups.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "experiments/constant_l1_5.hpp"

namespace gputopo::experiments {
namespace {

using program::Record;
using program::Walk;

constexpr std::uint32_t repetitions = 3;
constexpr std::uint32_t repetitions_in_doubt = 27;

struct Layout {
  std::uint64_t line_bytes = 0;
  std::uint64_t slots = 0;        // lines to choose from, one an SM
  std::uint64_t sweep_first = 0;  // what every SM walks to push its own line out of its constant L1
  std::uint64_t sweep_bytes = 0;
};

Walk line_of(const Layout& layout, std::uint32_t agent, std::uint64_t slot) {
  Walk walk = make_walk(constant_l1_5_path, 4, 4, 1);
  walk.agent = agent;
  walk.first_byte = slot * layout.line_bytes;
  return walk;
}

program::Program eviction_program(const Session& session, const Layout& layout, std::uint32_t running,
                                  std::uint32_t shift, bool runs_code) {
  const std::uint32_t sms = session.info().gpu.sm_count;
  program::Program p =
      make_program(fmt::format("constants of all SMs against code on SM {}", running), session.info(), slot_constant);
  p.isolation = Scope::gpu;
  p.agents.clear();
  for (std::uint32_t sm = 0; sm < sms; ++sm) p.agents.push_back({sm, 0});
  for (std::uint32_t sm = 0; sm < sms; ++sm) {
    p.phases.emplace_back(line_of(layout, sm, (sm + shift) % layout.slots));
    Walk sweep = make_walk(constant_l1_5_path, layout.sweep_bytes, 64, 1);
    sweep.agent = sm;
    sweep.first_byte = layout.sweep_first;
    p.phases.emplace_back(sweep);
  }
  program::Execute code;
  code.agent = running;
  code.code_bytes = session.info().execute_limit_bytes;
  code.laps = 2;
  if (runs_code) p.phases.emplace_back(code);
  for (std::uint32_t sm = 0; sm < sms; ++sm)
    p.phases.emplace_back(recorded(line_of(layout, sm, (sm + shift) % layout.slots), Record::latencies, 1));
  return p;
}

// How often each SM's constant was gone after code on SM `running`. A cache that replaces lines at random loses some of
// them to the SM's own walk now and then.
Expected<std::vector<std::uint32_t>> votes_against(Session& session, const Layout& layout, std::uint32_t running,
                                                   double threshold_cycles, std::uint32_t times) {
  const std::uint32_t sms = session.info().gpu.sm_count;
  program::Batch batch;
  for (std::uint32_t r = 0; r < times; ++r) batch.push_back(eviction_program(session, layout, running, r * 7, true));
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  std::vector<std::uint32_t> votes(sms, 0);
  for (const auto& trace : *traces)
    for (std::uint32_t sm = 0; sm < sms; ++sm) {
      const auto& latencies = trace.phases[trace.phases.size() - sms + sm].latencies;
      if (!latencies.empty() && latencies.front() >= threshold_cycles) ++votes[sm];
    }
  return votes;
}

// Whether constants stay where they are without any code that pushes them out: a cache hardly larger than what the SMs
// walk loses them anyhow.
Expected<bool> constants_stay(Session& session, const Layout& layout, double threshold_cycles) {
  program::Batch batch;
  for (std::uint32_t r = 0; r < repetitions; ++r) batch.push_back(eviction_program(session, layout, 0, r * 7, false));
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  const std::size_t sms = session.info().gpu.sm_count;
  std::size_t lost = 0;
  for (const auto& trace : *traces)
    for (auto phase = trace.phases.end() - static_cast<std::ptrdiff_t>(sms); phase != trace.phases.end(); ++phase)
      if (!phase->latencies.empty() && phase->latencies.front() >= threshold_cycles) ++lost;
  return 4 * lost < sms * repetitions;
}

}  // namespace

Expected<SmGroups> measure_sm_groups(Session& session, const SmCache& l1, std::uint64_t line_bytes,
                                     double threshold_cycles) {
  SmGroups result;
  const std::uint32_t sms = session.info().gpu.sm_count;
  const std::uint64_t bank = session.info().constant_bytes_per_module;
  Layout layout;
  layout.line_bytes = line_bytes;
  layout.sweep_bytes = std::max<std::uint64_t>(2 * l1.capacity_bytes, 4096);
  if (!session.info().has_execute) {
    result.problem = "needs code as the evictor, which this device can't run";
    return result;
  }
  if (layout.sweep_bytes + 32 * line_bytes > bank) {
    result.problem = "the constant L1 leaves too little of a constant bank to tell SMs apart";
    return result;
  }
  layout.sweep_first = bank - layout.sweep_bytes;
  layout.slots = layout.sweep_first / line_bytes;
  std::vector<bool> placed(sms, false);
  for (std::uint32_t running = 0; running < sms; ++running) {
    if (placed[running]) continue;
    auto votes = votes_against(session, layout, running, threshold_cycles, repetitions);
    if (!votes) return tl::unexpected<Error>(votes.error());
    std::uint32_t asked = repetitions;
    if (std::any_of(votes->begin(), votes->end(), [&](std::uint32_t v) { return v != 0 && v != repetitions; })) {
      asked = repetitions_in_doubt;
      votes = votes_against(session, layout, running, threshold_cycles, asked);
      if (!votes) return tl::unexpected<Error>(votes.error());
    }
    result.samples += std::uint64_t{asked} * sms;
    std::vector<std::uint32_t> group;
    for (std::uint32_t sm = 0; sm < sms; ++sm) {
      const bool evicted = 2 * (*votes)[sm] > asked;
      if (!evicted) continue;
      if (placed[sm]) {
        result.groups.clear();
        result.problem = fmt::format("SM {} seems to share with two groups", sm);
        return result;
      }
      group.push_back(sm);
    }
    if (std::find(group.begin(), group.end(), running) == group.end()) {
      result.groups.clear();
      result.problem = fmt::format("code on SM {} doesn't push out its own constants", running);
      return result;
    }
    for (const std::uint32_t sm : group) placed[sm] = true;
    result.groups.push_back(std::move(group));
  }
  // One group of all is what a lack of room looks like as well.
  if (result.groups.size() == 1 && sms > 1) {
    auto stay = constants_stay(session, layout, threshold_cycles);
    if (!stay) return tl::unexpected<Error>(stay.error());
    if (!*stay) {
      result.groups.clear();
      result.problem = "the constants of one SM don't stay in the cache while others walk theirs";
    }
  }
  return result;
}

}  // namespace gputopo::experiments
