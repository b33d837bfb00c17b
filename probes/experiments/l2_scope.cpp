// Which SMs have one L2? Those that find in it what another SM brought in: as fast at their first look as at their next
// one, when they have brought it in themselves. What is slower at first and still faster than memory was on another side
// of the L2 or in a cache behind several of them, which l2_sides and l2_geometry tell apart.
#include <algorithm>
#include <numeric>

#include <boost/math/distributions/binomial.hpp>
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
constexpr std::size_t phases_of_a_look = 5;
constexpr double by_chance = 1e-6;  // a chip has some 10,000 pairs of SMs

// SM `owner` brings lines in that nobody has touched, a set of its own for each of `others`, which look at them twice.
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
    // Other lines of the same pages, which nobody has brought in: what this SM's loads of memory take.
    p.phases.emplace_back(walk(agent, at + 2 * beside_bytes / 4));  // translates
    p.phases.emplace_back(recorded(walk(agent, at + beside_bytes), Record::histogram, 1));
    p.phases.emplace_back(walk(0, at));
    p.phases.emplace_back(recorded(walk(agent, at), Record::latencies, 1));
    p.phases.emplace_back(recorded(walk(agent, at), Record::latencies, 1));
  }
  return p;
}

// All looks of one SM at lines that one other brought in.
struct Look {
  Histogram seen, of_memory;
  double slower = 0, faster = 0;  // lines whose first load took half a level (docs/domain.md) longer, or less

  void add(std::span<const program::PhaseTrace> phases) {
    of_memory = merged(of_memory, phases[1].histogram);
    for (std::size_t i = 0; i < phases[3].latencies.size(); ++i) {
      const std::uint32_t first = phases[3].latencies[i], next = phases[4].latencies.at(i);
      seen = merged(seen, Histogram{{first, 1}});
      slower += first > half_a_level * next ? 1 : 0;
      faster += next > half_a_level * first ? 1 : 0;
    }
  }
  // That as many lines are slower at first by chance alone (sign test): strangers and traffic slow either look.
  double chance() const {
    return slower == 0 ? 1
                       : boost::math::cdf(boost::math::complement(
                             boost::math::binomial_distribution<>(slower + faster, 0.5), slower - 1));
  }
  bool is_open() const { return chance() >= by_chance && chance() < 0.05; }
};

enum class Finds { all, some, none };

Finds judge(const Look& look) {
  if (look.chance() >= by_chance) return Finds::all;
  constexpr double surely_not = 1e-2;
  const double median_seen = quantile(look.seen, 0.5).value_or(0);
  const bool is_faster = median_seen < quantile(look.of_memory, 0.5).value_or(0);
  return !is_faster || levels_of(look.seen, look.of_memory).doubt > surely_not ? Finds::none : Finds::some;
}

// What each of `others` finds of what `owner` brought in; who leaves it open looks again.
Expected<std::vector<Look>> look_at(Session& session, std::uint32_t owner, const std::vector<std::uint32_t>& others) {
  constexpr std::size_t most_rounds = 6;
  std::vector<Look> looks(others.size());
  std::vector<std::size_t> open(others.size());
  std::iota(open.begin(), open.end(), std::size_t{0});
  for (std::size_t round = 0; round < most_rounds && !open.empty(); ++round) {
    std::vector<std::uint32_t> sms;
    for (const std::size_t i : open) sms.push_back(others[i]);
    auto traces =
        session.run_in_order([&] { return std::vector<program::Batch>{{look_program(session, owner, sms)}}; });
    if (!traces) return tl::unexpected<Error>(traces.error());
    for (std::size_t k = 0; k < open.size(); ++k)
      looks[open[k]].add(std::span(traces->front().phases).subspan(phases_of_a_look * k, phases_of_a_look));
    std::erase_if(open, [&](std::size_t i) { return !looks[i].is_open(); });
  }
  return looks;
}

// Whether an SM that finds lines sooner than from memory, but not in its own L2, has the same L2: on another side of it.
enum class Elsewhere { another_side, behind_it, unknown };

Elsewhere elsewhere_of(const CacheFacts& l2, const Memory& memory) {
  const auto has_sides = memory.structure.find("l2_sides");
  if (l2.next_level && has_sides != memory.structure.end() && has_sides->second.value == "1")
    return Elsewhere::behind_it;
  const Estimate* sides = memory.find("partitions");
  return sides != nullptr && sides->has_value() && *sides->value > 1 ? Elsewhere::another_side : Elsewhere::unknown;
}

}  // namespace

Expected<void> measure_l2_scope(Session& session, Findings& findings) {
  const CacheFacts* l2 = findings.cache("l2");
  if (l2 == nullptr || !l2->present) return {};
  Memory& memory = findings.memory("l2");
  const Elsewhere elsewhere = elsewhere_of(*l2, memory);
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
      auto looks = look_at(session, group.front(), some);
      if (!looks) return tl::unexpected<Error>(looks.error());
      for (std::size_t i = 0; i < some.size(); ++i) {
        samples += 2 * total((*looks)[i].seen) + total((*looks)[i].of_memory);
        const Finds finds = judge((*looks)[i]);
        if ((*looks)[i].is_open() || (finds == Finds::some && elsewhere == Elsewhere::unknown)) {
          leave_scope_open(memory, method,
                           fmt::format("SM {} finds some of what SM {} brought in", some[i], group.front()));
          return {};
        }
        if (finds == Finds::none || (finds == Finds::some && elsewhere == Elsewhere::behind_it)) continue;
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
