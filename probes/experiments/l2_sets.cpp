// Which SMs find near what another one brought in? Those whose first look at its lines is as fast as their next one,
// when they have brought them in themselves. What is slower at first and still faster than memory was on another side
// of the L2 or in a cache behind several of them, which l2_geometry and l2_behind tell apart.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include <boost/math/distributions/binomial.hpp>
#include <fmt/format.h>

#include "evidence/inference/curves.hpp"
#include "evidence/inference/shift.hpp"
#include "evidence/looks/flush.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;
using program::Record;
using program::Walk;

constexpr std::uint64_t l2_sets_lines = 64;
constexpr std::uint64_t l2_sets_stride_bytes = 1152;
constexpr std::uint64_t beside_sets_bytes = 512;  // another line of the same page, between two that are looked at
constexpr std::uint64_t again_lines = 16;         // of those, at once
constexpr std::size_t phases_of_a_look = 6;
constexpr double one_pair_by_chance = 1e-6;  // a chip has some 10,000 pairs of SMs

// Stretches of memory that the L2 doesn't hold. [0, flushed) was walked last to empty it, and the lines right behind
// were looked at then (device_memory.cpp, l2_levels.cpp): what lies behind these was walked before all that. Where it
// is used up, what each SM walked first of its part, of which the L2 keeps the end, but more where SMs were done one
// after another.
class ColdStretches {
 public:
  ColdStretches(const device::DeviceInfo& info, std::uint64_t flushed_bytes, std::uint64_t end_bytes)
      : flushed_(flushed_bytes),
        part_(flush_part_bytes(info, flushed_bytes)),
        end_(end_bytes),
        behind_((flushed_bytes + looked_at_bytes + apart_bytes - 1) / apart_bytes * apart_bytes) {}
  std::uint64_t buffer_bytes() const { return std::max(end_, slot_bytes); }
  // Nothing where all were given out.
  std::optional<std::uint64_t> next() {
    if (behind_ + apart_bytes <= end_) return std::exchange(behind_, behind_ + apart_bytes);
    while (at_ + apart_bytes <= std::min(flushed_, end_)) {
      const std::uint64_t at = std::exchange(at_, at_ + apart_bytes);
      if (at % part_ + apart_bytes <= part_ / 2) return at;
    }
    return std::nullopt;
  }

 private:
  static constexpr std::uint64_t apart_bytes = 128 << 10;
  static constexpr std::uint64_t looked_at_bytes = 2 << 20;
  std::uint64_t flushed_, part_, end_;
  std::uint64_t behind_;
  std::uint64_t at_ = slot_bytes;
};

// SM `owner` brings lines in that nobody has touched, a set of its own for each of `others`, which look at them twice.
// Nothing where there is no cold memory any more.
std::optional<program::Program> look_program(const Session& session, ColdStretches& cold, std::uint32_t owner,
                                             const std::vector<std::uint32_t>& others) {
  program::Program p =
      make_program(fmt::format("l2 lines of SM {} as others find them", owner), session.info(), slot_flush);
  p.isolation = Scope::gpu;
  p.agents = {{owner, 0}};
  p.buffers[slot_flush].size_bytes = cold.buffer_bytes();
  const std::uint64_t bytes = l2_sets_lines * l2_sets_stride_bytes;
  const auto walk = [&](std::uint32_t agent, std::uint64_t at) {
    Walk w = make_walk(l2_path, bytes, l2_sets_stride_bytes, 1);
    w.agent = agent;
    w.first_byte = at;
    return w;
  };
  for (const std::uint32_t sm : others) {
    p.agents.push_back({sm, 0});
    const auto agent = static_cast<std::uint32_t>(p.agents.size() - 1);
    const auto stretch = cold.next();
    if (!stretch) return std::nullopt;
    const std::uint64_t at = *stretch;
    // Other lines of the same pages, which nobody has brought in: what this SM's loads of memory take.
    p.phases.emplace_back(walk(agent, at + 2 * beside_sets_bytes / 4));  // translates
    p.phases.emplace_back(recorded(walk(agent, at + beside_sets_bytes), Record::histogram, 1));
    p.phases.emplace_back(walk(0, at));
    p.phases.emplace_back(recorded(walk(agent, at), Record::latencies, 1));
    p.phases.emplace_back(recorded(walk(agent, at), Record::latencies, 1));
    Walk again = recorded(walk(agent, at + bytes - again_lines * l2_sets_stride_bytes), Record::latencies, 1);
    again.footprint_bytes = again_lines * l2_sets_stride_bytes;
    p.phases.emplace_back(again);
  }
  return p;
}

// Of lines on k sides an SM finds 1 - 1/k elsewhere, half at least: half of that is what both answers are as far from.
constexpr double some_of_them = 0.25;

// Lines whose first load took half a level (docs/domain.md) longer than the next one, or less.
struct Changes {
  std::vector<double> slower;
  double faster = 0;
  // How many more are slower than are faster: strangers and traffic make as many either.
  double excess() const { return static_cast<double>(slower.size()) - faster; }
  void add(std::span<const std::uint32_t> first, std::span<const std::uint32_t> next) {
    for (std::size_t i = 0; i < std::min(first.size(), next.size()); ++i) {
      if (first[i] > half_a_level * next[i]) slower.push_back(first[i]);
      faster += next[i] > half_a_level * first[i] ? 1 : 0;
    }
  }
};

// Whether lines get lost between two looks at all of them: those that are looked at again at once are faster then.
bool are_lost(std::span<const program::PhaseTrace> phases) {
  const auto& next = phases[4].latencies;
  const auto& again = phases[5].latencies;
  Changes changes;
  changes.add(std::span(next).last(std::min(next.size(), again.size())), again);
  return changes.excess() > some_of_them * static_cast<double>(again.size());
}

// All looks of one SM at lines that one other brought in.
struct Look {
  Histogram seen, of_memory;
  Changes changes;

  // Emptying an L2 leaves some of what was walked for it: what isn't from memory says nothing. A row of DRAM that is
  // open answers sooner than memory was seen to, and later than what is loaded again at once.
  void add(std::span<const program::PhaseTrace> phases, double memory_from_cycles) {
    const auto& again = phases[5].latencies;
    const double slowest = again.empty() ? 0 : *std::max_element(again.begin(), again.end());
    const double no_hit_from = std::min(memory_from_cycles, half_a_level * slowest);
    if (quantile(phases[1].histogram, 0.1).value_or(0) < no_hit_from) return;
    // Nor do lines that others pushed out before they were looked at again. Of eight sides one is near at least.
    if (quantile(counted(phases[4].latencies), 0.1).value_or(0) >= memory_from_cycles || are_lost(phases)) return;
    of_memory = merged(of_memory, phases[1].histogram);
    seen = merged(seen, counted(phases[3].latencies));
    changes.add(phases[3].latencies, phases[4].latencies);
  }
  double slower() const { return static_cast<double>(changes.slower.size()); }
  // That as many lines are slower at first by chance alone (sign test): strangers and traffic slow either look.
  double chance() const {
    return slower() == 0 ? 1
                         : boost::math::cdf(boost::math::complement(
                               boost::math::binomial_distribution<>(slower() + changes.faster, 0.5), slower() - 1));
  }
  double limit() const { return some_of_them * static_cast<double>(total(seen)); }
  double deviation() const { return std::sqrt(slower() + changes.faster + 1); }
  bool are_few_slower() const { return changes.excess() + 3 * deviation() < limit(); }
  // Half of 64 looks are five deviations more than that: one more says that hardly any of these is by chance.
  bool are_many_slower() const { return changes.excess() - deviation() > limit(); }
};

enum class Finds { all, some, none, unknown };

// What is found elsewhere comes a level sooner than memory (docs/domain.md), and what isn't as late as memory: half a
// level is what both answers are as far from.
Finds judge(const Look& look) {
  constexpr double deviations = 4;  // passed by chance once in 30,000 pairs
  if (look.seen.empty()) return Finds::unknown;
  if (look.are_few_slower() || look.chance() >= 0.05) return Finds::all;
  // A few slow ones, however surely, are lines that the owner lost again.
  if (look.chance() >= one_pair_by_chance || !look.are_many_slower()) return Finds::unknown;
  const Interval sooner = shift_between(look.seen, look.of_memory, deviations);
  const double half = (half_a_level - 1) * quantile(look.of_memory, 0.5).value_or(0);
  return sooner.low > half ? Finds::some : sooner.high < half ? Finds::none : Finds::unknown;
}

// What each of `others` finds of what `owner` brought in; who leaves it open looks again.
Expected<std::vector<Look>> look_at(Session& session, const CacheFacts& l2, ColdStretches& cold, std::uint32_t owner,
                                    const std::vector<std::uint32_t>& others) {
  constexpr std::size_t most_rounds = 8;
  constexpr int rounds_of_many = 3;  // of which fewer can be asked
  std::vector<Look> looks(others.size());
  std::vector<std::size_t> open(others.size());
  std::iota(open.begin(), open.end(), std::size_t{0});
  for (std::size_t round = 0; round < most_rounds && !open.empty(); ++round) {
    std::vector<std::uint32_t> sms;
    for (const std::size_t i : open) sms.push_back(others[i]);
    bool is_cold = true;
    auto traces = session.run_in_order(
        [&] {
          const auto program = look_program(session, cold, owner, sms);
          is_cold = program.has_value();
          return std::vector<program::Batch>{is_cold ? program::Batch{*program} : program::Batch{}};
        },
        others.size() > 1 ? rounds_of_many : most_rounds_in_vain);
    if (traces && !is_cold) return fail(Error::Kind::unavailable, "there is no memory left that nobody has loaded");
    if (!traces) return tl::unexpected<Error>(traces.error());
    for (std::size_t k = 0; k < open.size(); ++k)
      looks[open[k]].add(std::span(traces->front().phases).subspan(phases_of_a_look * k, phases_of_a_look),
                         l2.levels.threshold_cycles);
    std::erase_if(open, [&](std::size_t i) { return judge(looks[i]) != Finds::unknown; });
  }
  return looks;
}

// What was looked at, for who wants to see it.
struct Looked {
  DecidingCurve by_sm = make_curve("l2", "scope", {"SM", "", false}, {"first loads, the middle one", "cycles", false});
  Histogram near, far, of_memory;

  void add(std::uint32_t sm, const Look& look, bool is_same) {
    if (look.seen.empty()) return;
    Histogram& into = is_same ? near : far;
    into = merged(into, look.seen);
    of_memory = merged(of_memory, look.of_memory);
    if (by_sm.series.size() <= most_series && !by_sm.series.empty())
      by_sm.series.back().points.emplace_back(sm, quantile(look.seen, 0.5).value_or(0));
  }
  void keep(Session& session) {
    if (by_sm.series.size() > most_series) by_sm.series.resize(most_series);
    DecidingCurve kinds =
        make_curve("l2", "l2_sides", {"latency as timed", "cycles", false}, share_axis("first loads"));
    kinds.series = {share_up_to("brought in by an SM of the same set", near),
                    share_up_to("brought in by an SM of another set", far),
                    share_up_to("brought in by none", of_memory)};
    session.keep(std::move(by_sm));
    session.keep(std::move(kinds));
  }
};

// Which of `others` are of the owner's set; the rest is told how they are not.
struct Sorted {
  std::vector<std::uint32_t> same, apart;
  bool some = false, none = false;  // found of what the owner brought in by those that are apart
};

Expected<Sorted> sort_by(Session& session, const CacheFacts& l2, ColdStretches& cold, std::uint32_t owner,
                         const std::vector<std::uint32_t>& others, Findings::L2Sets& result, Looked& looked) {
  std::size_t together = 16;  // SMs that look in one program
  Sorted sorted;
  looked.by_sm.series.push_back({fmt::format("lines of SM {}", owner), {}});
  for (std::size_t from = 0; from < others.size() && result.why_open.empty();) {
    const std::vector<std::uint32_t> some(
        others.begin() + static_cast<std::ptrdiff_t>(from),
        others.begin() + static_cast<std::ptrdiff_t>(std::min(from + together, others.size())));
    auto looks = look_at(session, l2, cold, owner, some);
    if (!looks && looks.error().kind == Error::Kind::unavailable && together > 1) {
      together /= 2;  // longer than a slice of a GPU that others take turns on
      continue;
    }
    if (!looks) return tl::unexpected<Error>(looks.error());
    from += some.size();
    for (std::size_t i = 0; i < some.size(); ++i) {
      const Look& look = (*looks)[i];
      result.samples += 2 * total(look.seen) + total(look.of_memory);
      const Finds finds = judge(look);
      if (finds == Finds::unknown)
        result.why_open = fmt::format("whether SM {} finds what SM {} brought in can't be told", some[i], owner);
      looked.add(some[i], look, finds == Finds::all);
      (finds == Finds::all ? sorted.same : sorted.apart).push_back(some[i]);
      sorted.some = sorted.some || finds == Finds::some;
      sorted.none = sorted.none || finds == Finds::none;
      if (finds == Finds::some)
        result.far.insert(result.far.end(), look.changes.slower.begin(), look.changes.slower.end());
    }
  }
  return sorted;
}

}  // namespace

Expected<void> measure_l2_sets(Session& session, Findings& findings) {
  const CacheFacts* l2 = findings.cache("l2");
  const CacheFacts* memory = findings.cache("device_memory");
  if (l2 == nullptr || !l2->present || memory == nullptr) return {};
  // As much again was walked before to see that less is enough (device_memory.cpp).
  const std::uint64_t flushed = memory->capacity_bytes;
  ColdStretches cold(session.info(), flushed, std::min(2 * flushed, session.info().largest_buffer_bytes / 2));
  Findings::L2Sets result;
  Looked looked;
  std::vector<std::uint32_t> open(session.info().gpu.sm_count);
  std::iota(open.begin(), open.end(), 0U);
  bool some = false, none = false;
  while (!open.empty() && result.why_open.empty()) {
    const std::uint32_t owner = open.front();
    open.erase(open.begin());
    auto sorted = sort_by(session, *l2, cold, owner, open, result, looked);
    if (!sorted) return tl::unexpected<Error>(sorted.error());
    result.sets.push_back(std::move(sorted->same));
    result.sets.back().insert(result.sets.back().begin(), owner);
    open = std::move(sorted->apart);
    some = some || sorted->some;
    none = none || sorted->none;
  }
  if (some && none && result.why_open.empty())
    result.why_open = "some SMs find a part of what others brought in, and some find nothing";
  result.shares = some;
  looked.keep(session);
  findings.l2_sets = std::move(result);
  return {};
}

}  // namespace gputopo::experiments
