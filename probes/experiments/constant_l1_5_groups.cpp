// Which SMs share the cache behind the constant L1? Every SM loads a line of constants of its own, one SM runs through
// a long stretch of code, every SM looks whether its line is still near. Those whose lines are gone lie in the running
// SM's cache. What is gone without any code is the control. Of a group that was found one SM is asked from then on.
#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>

#include "evidence/inference/curves.hpp"
#include "evidence/looks/structure.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;
using program::Record;
using program::Walk;

constexpr std::string_view constant_l1_5_groups_method = "code_eviction";

struct Layout {
  std::uint64_t line_bytes = 0;
  std::uint64_t slots = 0;        // lines to choose from, one an SM
  std::uint64_t sweep_first = 0;  // what every SM walks to push its own line out of its constant L1
  std::uint64_t sweep_bytes = 0;
};

// What became of constants after code on one SM.
struct AfterCode {
  std::uint32_t launches = 0;
  std::vector<std::uint32_t> gone;  // by SM, in how many of them
  std::vector<Sameness> as_its;     // held against the running SM's own, and against the same without code
};

class GroupTest {
 public:
  GroupTest(Session& session, const CacheFacts& cache, const Layout& layout)
      : session_(session), cache_(cache), layout_(layout), all_(session.info().gpu.sm_count) {
    std::iota(all_.begin(), all_.end(), 0U);
  }

  const std::vector<std::uint32_t>& all() const { return all_; }
  std::uint64_t samples() const { return samples_; }

  // Of each of `sms`, of which number `own` runs the code.
  Expected<AfterCode> ask(const std::vector<std::uint32_t>& sms, std::size_t own) {
    // One load an SM and launch: of 3, strangers (5 %) spoil two once in 138; where launches differ, 27 are asked.
    constexpr std::uint32_t few = 3, many = 27;
    for (const std::uint32_t launches : {few, many}) {
      if (auto ok = ask_alone(launches); !ok) return tl::unexpected<Error>(ok.error());
      auto gone = this->gone(sms, sms[own], true, launches);
      if (!gone) return tl::unexpected<Error>(gone.error());
      if (launches == few && (differ(*gone, launches) || differ(alone_, launches_alone_))) continue;
      const auto tally = [](std::uint32_t count, std::uint32_t of) {
        return Tally{static_cast<double>(of), static_cast<double>(count)};
      };
      AfterCode after{launches, *gone, {}};
      for (std::size_t i = 0; i < sms.size(); ++i)
        after.as_its.push_back(sameness(tally((*gone)[i], launches), tally((*gone)[own], launches),
                                        tally(alone_[sms[i]], launches_alone_)));
      return after;
    }
    return AfterCode{};
  }

  double share_alone(std::uint32_t sm) const { return alone_[sm] / static_cast<double>(launches_alone_); }

 private:
  static bool differ(const std::vector<std::uint32_t>& gone, std::uint32_t launches) {
    return std::any_of(gone.begin(), gone.end(), [&](std::uint32_t g) { return g != 0 && g != launches; });
  }

  // What is gone without any code; known once, by as many launches as were asked for so far.
  Expected<void> ask_alone(std::uint32_t launches) {
    if (launches <= launches_alone_) return {};
    auto gone = this->gone(all_, 0, false, launches);
    if (!gone) return tl::unexpected<Error>(gone.error());
    alone_ = std::move(*gone);
    launches_alone_ = launches;
    return {};
  }

  // How often the constant of each of `sms` was gone, of `times`, after code on SM `running`, or after none.
  Expected<std::vector<std::uint32_t>> gone(const std::vector<std::uint32_t>& sms, std::uint32_t running,
                                            bool runs_code, std::uint32_t times) {
    program::Batch batch;
    for (std::uint32_t r = 0; r < times; ++r) batch.push_back(program(sms, running, r * 7, runs_code));
    auto traces = session_.run(batch);
    if (!traces) return tl::unexpected<Error>(traces.error());
    samples_ += times * sms.size();
    std::vector<std::uint32_t> votes(sms.size(), 0);
    for (const auto& trace : *traces)
      for (std::size_t i = 0; i < sms.size(); ++i)
        if (trace.phases[trace.phases.size() - sms.size() + i].latencies.at(0) >= cache_.levels.threshold_cycles)
          ++votes[i];
    return votes;
  }

  Walk line_of(std::uint32_t agent, std::uint64_t slot) const {
    Walk walk = make_walk(constant_l1_5_path, 4, 4, 1);
    walk.agent = agent;
    walk.first_byte = slot * layout_.line_bytes;
    return walk;
  }

  program::Program program(const std::vector<std::uint32_t>& sms, std::uint32_t running, std::uint32_t shift,
                           bool runs_code) const {
    program::Program p = make_program(fmt::format("constants of {} SMs against code on SM {}", sms.size(), running),
                                      session_.info(), slot_constant);
    p.isolation = Scope::gpu;
    p.agents.clear();
    for (const std::uint32_t sm : sms) p.agents.push_back({sm, 0});
    for (std::uint32_t agent = 0; agent < sms.size(); ++agent) {
      p.phases.emplace_back(line_of(agent, (sms[agent] + shift) % layout_.slots));
      Walk sweep = make_walk(constant_l1_5_path, layout_.sweep_bytes, 64, 1);
      sweep.agent = agent;
      sweep.first_byte = layout_.sweep_first;
      p.phases.emplace_back(sweep);
    }
    const auto runner = static_cast<std::uint32_t>(std::find(sms.begin(), sms.end(), running) - sms.begin());
    if (runs_code) p.phases.emplace_back(program::Execute{runner, session_.info().execute_limit_bytes, 2, false});
    for (std::uint32_t agent = 0; agent < sms.size(); ++agent)
      p.phases.emplace_back(recorded(line_of(agent, (sms[agent] + shift) % layout_.slots), Record::latencies, 1));
    return p;
  }

  Session& session_;
  const CacheFacts& cache_;
  const Layout& layout_;
  std::vector<std::uint32_t> all_;
  std::vector<std::uint32_t> alone_;  // by SM
  std::uint32_t launches_alone_ = 0;
  std::uint64_t samples_ = 0;
};

// Whether what SMs of such groups had no longer near was lost to the code, and from this cache: that has room for what
// they load, as far as its size is known, or else the L2 has far more than what the code pushes out.
bool is_lost_from_it(const Session& session, const Findings& findings, const Memory& memory, const Layout& layout,
                     const SmSets& groups) {
  constexpr std::uint64_t many_times = 16;  // as where it is held against what constants take from the L2
  const Estimate* size = memory.find("size");
  const double kept = size != nullptr && size->has_value() ? *size->value : 0;
  std::size_t most = 0;
  for (const auto& group : groups) most = std::max(most, group.size());
  return kept >= static_cast<double>(layout.sweep_bytes + most * layout.line_bytes) ||
         findings.near_l2_bytes(session.info()).value_or(0) >= many_times * session.info().execute_limit_bytes;
}

Expected<void> find(Session& session, const Findings& findings, const CacheFacts& cache, const Layout& layout,
                    Memory& memory) {
  GroupTest test(session, cache, layout);
  const auto open = [&](std::string_view why) {
    leave_scope_open(memory, constant_l1_5_groups_method, why);
    return Expected<void>{};
  };
  std::vector<std::uint32_t> unplaced = test.all();
  std::vector<Asked> asked_of;
  SmSets groups;
  while (!unplaced.empty()) {
    const std::uint32_t running = unplaced.front();
    std::vector<std::uint32_t> sms;
    for (const auto& group : groups) sms.push_back(group.front());
    const std::size_t placed = sms.size();
    sms.insert(sms.end(), unplaced.begin(), unplaced.end());
    auto after = test.ask(sms, placed);
    if (!after) return tl::unexpected<Error>(after.error());
    Asked& one = asked_of.emplace_back(Asked{running, {}, 0, test.share_alone(running)});
    const auto share = [&](std::size_t i) { return after->gone[i] / static_cast<double>(after->launches); };
    for (std::size_t i = 0; i < sms.size(); ++i) one.lost_to[sms[i]] = share(i);
    one.to_itself = share(placed);
    session.keep(
        asked_curve("constant_l1_5", "scope", "SM", "share of launches in which its constants were gone", asked_of));
    std::vector<std::uint32_t> group;
    for (std::size_t i = 0; i < sms.size(); ++i) {
      if (!after->as_its[i].decided)
        return open(fmt::format("whether SM {} loses its constants to code on SM {} or by itself doesn't show clearly",
                                sms[i], running));
      if (!after->as_its[i].is_same()) continue;
      if (i < placed) return open(fmt::format("SM {} seems to share with two groups", sms[i]));
      group.push_back(sms[i]);
    }
    if (group.empty() || group.front() != running)
      return open(fmt::format("code on SM {} doesn't push out its own constants", running));
    std::erase_if(unplaced, [&](std::uint32_t sm) { return std::find(group.begin(), group.end(), sm) != group.end(); });
    groups.push_back(std::move(group));
  }
  if (!is_lost_from_it(session, findings, memory, layout, groups))
    return open("it may be too small for what they load, so that code pushes that out of the L2 instead");
  set_scope(memory, groups, constant_l1_5_groups_method, test.samples());
  memory.attributes["instances"] = [&] {
    Estimate e;
    e.value = static_cast<double>(groups.size());
    e.status = Status::measured;
    e.method = constant_l1_5_groups_method;
    e.samples = test.samples();
    return e;
  }();
  return {};
}

}  // namespace

Expected<void> measure_constant_l1_5_groups(Session& session, Findings& findings) {
  const CacheFacts* cache = findings.cache("constant_l1_5");
  const CacheFacts* l1 = findings.cache("constant_l1");
  if (cache == nullptr || !cache->present || l1 == nullptr) return {};
  Memory& memory = findings.memory("constant_l1_5");
  const std::uint64_t bank = session.info().constant_bytes_per_module;
  Layout layout;
  layout.line_bytes = cache->stride();
  layout.sweep_bytes = std::max<std::uint64_t>(2 * l1->capacity_bytes, 4096);
  const auto open = [&](std::string_view why) {
    leave_scope_open(memory, constant_l1_5_groups_method, why);
    return Expected<void>{};
  };
  if (!session.info().has_execute) return open("needs code as the evictor, which this device can't run");
  if (layout.sweep_bytes + 32 * layout.line_bytes > bank)
    return open("the constant L1 leaves too little of a constant bank to tell SMs apart");
  layout.sweep_first = bank - layout.sweep_bytes;
  layout.slots = layout.sweep_first / layout.line_bytes;
  return find(session, findings, *cache, layout, memory);
}

// The same cache against code on one SM: half of what it holds, with and without code in between.
Expected<void> measure_code_sharing(Session& session, Findings& findings) {
  const CacheFacts* cache = findings.cache("constant_l1_5");
  const device::DeviceInfo& info = session.info();
  if (cache == nullptr || !cache->can_be_filled() || !info.has_execute) return {};
  // Code that fits beside the constants would say nothing.
  if (info.execute_limit_bytes < cache->capacity_bytes * 3 / 2) return {};
  const std::uint64_t bytes = std::min(info.constant_bytes_per_module, cache->capacity_bytes) / 2;
  program::Batch batch;
  for (const bool with_code : {true, false}) {
    program::Program p = make_program("constant_l1_5 against code", info, slot_constant);
    p.isolation = Scope::gpu;
    const Walk walk = make_walk(constant_l1_5_path, bytes, cache->stride(), cache->warm_laps);
    p.phases = {walk};
    if (with_code) p.phases.emplace_back(program::Execute{0, info.execute_limit_bytes, 2, false});
    // Few enough for the L1 to keep them: then another part of each line, which came in with it.
    Walk look = walk;
    const bool may_be_in_front = bytes / cache->stride() * cache->front_line_bytes <= 2 * cache->front_capacity_bytes;
    if (may_be_in_front && cache->sector_bytes > cache->front_line_bytes) look.first_byte = cache->front_line_bytes;
    p.phases.emplace_back(recorded(look, Record::histogram, 1));
    batch.push_back(std::move(p));
  }
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  std::array<Tally, 2> tallies;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto& timed = (*traces)[i].phases.back().histogram;
    tallies[i] = {static_cast<double>(count_from(timed, cache->front_threshold_cycles)),
                  static_cast<double>(count_from(timed, cache->levels.threshold_cycles))};
  }
  // Half as much code again as the cache holds leaves nothing of it, whatever it replaces.
  const Tally all{tallies[0].loads, tallies[0].loads * (1 - cache->levels.false_hit)};
  const Sameness s = sameness(tallies[0], all, tallies[1]);
  const std::string verdict = s.decided ? std::string(verdict_of(s)) : "inconclusive";
  findings.topology.sharing.push_back(
      {"constant_l1_5",
       "instruction",
       verdict,
       {{"eviction", std::string(verdict_of(s)), tallies[0].share(), static_cast<std::uint64_t>(tallies[0].loads)}}});
  DecidingCurve curve = make_curve("constant_l1_5", "code", {"code run in between", "B", false},
                                   {std::string(share_of_lines_lost), "", false});
  curve.series = {{"constants", {{0, tallies[1].share()}, {info.execute_limit_bytes, tallies[0].share()}}}};
  session.keep(std::move(curve));
  Memory& memory = findings.memory("constant_l1_5");
  memory.structure["code"] = s.decided
                                 ? decided(verdict, "eviction", static_cast<std::uint64_t>(tallies[0].loads), s.sure())
                                 : undecided("eviction", "code pushes out some constants, but not as one cache would");
  return {};
}

}  // namespace gputopo::experiments
