// Is the L2 in parts that some SMs are near to and others far from? Two ways to be so, each with positive evidence:
//  - a line lives on one side only: the SMs fall into sets, and each line is near for one of them and far for the
//  others;
//  - each side keeps copies of what its own SMs read: what one SM brought in is far for an SM of another side at its
//    first load, and near from then on (l2_sets.cpp).
// Slices at different distances show neither: every SM's own mixture of latencies, the same at every load.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "evidence/chip/l2_pages.hpp"
#include "evidence/chip/sm_clusters.hpp"
#include "evidence/chip/sm_latencies.hpp"
#include "evidence/inference/curves.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/inference/modes.hpp"
#include "evidence/lines/near_and_far.hpp"
#include "evidence/looks/latency.hpp"
#include "evidence/looks/structure.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;
using program::Record;
using program::Walk;

constexpr std::uint64_t l2_sides_stride_bytes = in_a_small_page.stride_bytes;
constexpr std::uint64_t l2_sides_lines = 270;      // 192 of them behind another one of their page
constexpr std::uint64_t beside_sides_bytes = 512;  // another line of the same page, between two that are looked at
constexpr std::size_t most_sms = 16;
constexpr double opposite = 0.25;  // as strongly do two SMs correlate, less than nothing, whose sides are opposite

Walk lines_walk(std::uint64_t first_byte, std::uint32_t agent, std::uint32_t laps) {
  Walk walk = make_walk(l2_path, l2_sides_lines * l2_sides_stride_bytes, l2_sides_stride_bytes, laps);
  walk.first_byte = first_byte;
  walk.agent = agent;
  return walk;
}

// By SM, what each line's loads take undisturbed, without the clock; all SMs look at the same lines.
Expected<std::vector<std::vector<double>>> look_later(Session& session, const std::vector<std::uint32_t>& sms,
                                                      double overhead_cycles) {
  const std::uint64_t at =
      session.fresh_region(slot_flush, l2_sides_lines * l2_sides_stride_bytes + beside_sides_bytes);
  program::Batch batch;
  for (const std::uint32_t sm : sms) {
    program::Program p = make_program(fmt::format("l2 lines as SM {} sees them", sm), session.info(), slot_flush);
    p.isolation = Scope::gpu;
    p.agents = {{sm, 0}};
    p.phases = {lines_walk(at, 0, 2)};
    p.phases.insert(p.phases.end(), looks_at_a_line, recorded(lines_walk(at, 0, 1), Record::latencies, 1));
    batch.push_back(std::move(p));
  }
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  std::vector<std::vector<double>> by_sm;
  for (const auto& trace : *traces) {
    LooksByLine looks;
    for (std::uint64_t line = 0; line < l2_sides_lines; ++line) {
      if (!in_a_small_page.is_translated(at, line)) continue;
      looks.emplace_back();
      for (std::size_t lap = 1; lap <= looks_at_a_line; ++lap)
        looks.back().push_back(trace.phases[lap].latencies.at(line));
    }
    by_sm.push_back(undisturbed_by_line(std::move(looks)));
    for (double& cycles : by_sm.back()) cycles -= overhead_cycles;
  }
  return by_sm;
}

// Kinds of what lines take longer than for the SM nearest to them.
bool are_a_level_apart(const TwoKinds& beyond, const std::vector<double>& latencies) {
  return beyond.far - beyond.near >= (half_a_level - 1) * median(latencies);
}

struct Homes {
  std::size_t sides = 1;
  std::vector<double> near, far;  // what SMs see of lines on their own side and on others
};

// SMs with one pattern of near and far lines form a set; with lines on k sides there are k of them, and every line is
// near for exactly one.
Homes homes_of(const std::vector<std::vector<double>>& by_sm) {
  constexpr double clear_cut = 0.1;     // share of lines that strangers and distance may leave between the kinds
  constexpr double same_pattern = 0.9;  // share of lines that two SMs of one side see alike
  Homes homes;
  std::vector<std::vector<bool>> patterns;
  std::vector<double> near, far;
  const auto beyond = beyond_nearest(by_sm);
  for (std::size_t sm = 0; sm < by_sm.size(); ++sm) {
    const auto& latencies = by_sm[sm];
    const TwoKinds kinds = two_kinds(beyond[sm]);
    if (kinds.share_between > clear_cut || !are_a_level_apart(kinds, latencies)) return homes;
    std::vector<bool> pattern;
    for (const double x : beyond[sm]) pattern.push_back(x < kinds.threshold);
    const auto alike = [&](const std::vector<bool>& other) {
      std::size_t same = 0;
      for (std::size_t i = 0; i < pattern.size(); ++i) same += pattern[i] == other[i] ? 1 : 0;
      return static_cast<double>(same) >= same_pattern * static_cast<double>(pattern.size());
    };
    if (std::none_of(patterns.begin(), patterns.end(), alike)) patterns.push_back(pattern);
    for (std::size_t i = 0; i < pattern.size(); ++i) (pattern[i] ? near : far).push_back(latencies[i]);
  }
  std::size_t with_one_home = 0;
  for (std::uint64_t line = 0; line < by_sm.front().size(); ++line) {
    std::size_t homes_of_line = 0;
    for (const auto& pattern : patterns) homes_of_line += pattern[line] ? 1 : 0;
    with_one_home += homes_of_line == 1 ? 1 : 0;
  }
  if (patterns.size() < 2 ||
      static_cast<double>(with_one_home) < same_pattern * static_cast<double>(by_sm.front().size()))
    return homes;
  homes.sides = patterns.size();
  homes.near = std::move(near);
  homes.far = std::move(far);
  return homes;
}

// Where an SM found a line lost, what others take for it: memory is so much farther than a side that few such lines
// would hide what the others show.
std::vector<std::vector<double>> as_hits(std::vector<std::vector<double>> by_sm, double threshold_cycles) {
  for (std::uint64_t line = 0; line < by_sm.front().size(); ++line) {
    std::vector<double> hits;
    for (const auto& latencies : by_sm)
      if (latencies[line] < threshold_cycles) hits.push_back(latencies[line]);
    if (hits.empty()) continue;
    const double usual = median(hits);
    for (auto& latencies : by_sm)
      if (latencies[line] >= threshold_cycles) latencies[line] = usual;
  }
  return by_sm;
}

// Of what lines take longer for one SM than for the other.
double variance_apart(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> apart;
  for (std::size_t line = 0; line < a.size(); ++line) apart.push_back(a[line] - b[line]);
  const double middle = median(apart);
  double squares = 0;
  for (const double x : apart) squares += (x - middle) * (x - middle);
  return squares / static_cast<double>(apart.size());
}

// Whether two SMs differ over the lines by as much as sides of the L2 would make them: of lines on k sides 2 / k are
// near for one of two SMs of different sides and a level farther for the other. Of four sides, or two.
bool differ_by_a_level(const std::vector<double>& a, const std::vector<double>& b) {
  constexpr double least_share = 0.5;
  const double level = (least_ratio - 1) * median(a);
  return variance_apart(a, b) >= least_share * level * level;
}

// Lines on k sides are near for one of them and far for k - 1: SMs of different sides correlate by -1 / (k - 1), less
// what distance adds. 192 lines without a pattern do by 0.25 once in 4000 pairs, and few have kinds a level apart.
bool see_opposite_patterns(const std::vector<std::vector<double>>& by_sm) {
  const auto beyond = beyond_nearest(by_sm);
  for (std::size_t i = 0; i < by_sm.size(); ++i)
    if (!are_a_level_apart(two_kinds(beyond[i]), by_sm[i])) return false;
  const Correlations r(beyond);
  for (std::size_t i = 0; i < r.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (r.between(i, j) < -opposite && differ_by_a_level(by_sm[i], by_sm[j])) return true;
  return false;
}

// Whether sides would have shown. Of two, a level apart, a line is half a level more or less than the middle one: of
// what SMs see of lines each by themselves that is as large a part of the variance as SMs of different sides correlate,
// less than nothing.
bool would_show(const std::vector<std::vector<double>>& by_sm) {
  std::vector<double> own, middles;
  for (std::size_t i = 0; i < by_sm.size(); ++i) {
    middles.push_back(median(by_sm[i]));
    for (std::size_t j = 0; j < i; ++j) own.push_back(variance_apart(by_sm[i], by_sm[j]) / 2);
  }
  const double half = (least_ratio - 1) * median(middles) / 2;
  return half * half >= opposite * median(own);
}

// Whether lines are still there when they are looked at: else what they take says nothing of near and far.
bool are_hits(const std::vector<std::vector<double>>& by_sm, double threshold_cycles) {
  constexpr double nearly_all = 0.9;
  double hits = 0, lines = 0;
  for (const auto& latencies : by_sm)
    for (const double cycles : latencies) hits += cycles < threshold_cycles ? 1 : 0, ++lines;
  return hits >= nearly_all * lines;
}

// What SMs' loads take of lines on their own side, and on others.
void keep_kinds(Session& session, const std::vector<double>& near, const std::vector<double>& far) {
  DecidingCurve curve =
      make_curve("l2", "l2_sides", {"latency without the clock", "cycles", false}, share_axis("loads"));
  curve.series = {share_up_to("lines on the SM's own side", near), share_up_to("lines on another", far)};
  session.keep(std::move(curve));
}

void state_homes(Session& session, Findings& findings, const Homes& homes, std::uint64_t samples) {
  CacheFacts& l2 = *findings.cache("l2");
  findings.lines_have_sides = true;
  keep_kinds(session, homes.near, homes.far);
  state_sides(findings.memory("l2"), homes.sides, mean_estimate(homes.far, "cycles", "line_quartiles"), "lines_by_sm",
              samples);
  findings.memory("l2").attributes["latency"] = mean_estimate(homes.near, "cycles", "line_quartiles");
  const Estimate& near = findings.memory("l2").attributes["latency"];
  session.keep(
      numbers_curve("l2", "latency", {"latency without the clock", "cycles", false}, "near lines", homes.near, near));
  l2.latency_cycles = *near.value;
}

// Of an L2 that may have sides.
void state_near_latency(const CacheFacts& l2, Estimate& latency) {
  std::vector<double> near = l2.by_line;
  for (double& cycles : near) cycles -= l2.overhead_cycles;
  const double end = end_of_near_lines(near);
  std::erase_if(near, [&](double cycles) { return cycles > end; });
  Estimate of_near = mean_estimate(near, "cycles", "line_quartiles");
  of_near.samples = latency.samples;
  if (of_near.status != Status::measured) return bound_above(latency, near_and_far);
  latency = of_near_lines(std::move(of_near), latency);
}

constexpr std::string_view sides_or_distance = "what is near for some SMs is far for others: sides or distance";

// Why what SMs see of lines tells nothing of sides; empty where it does.
std::string why_lines_leave_open(const std::vector<std::vector<double>>& by_sm, bool is_one_set, bool all_hit) {
  if (is_one_set && see_opposite_patterns(by_sm)) return std::string(sides_or_distance);
  if (!all_hit) return "the L2 loses the lines that SMs look at one after another";
  if (is_one_set && !would_show(by_sm))
    return "SMs differ over lines by more than sides would make them: distance may hide sides";
  return {};
}

}  // namespace

Expected<void> measure_l2_sides(Session& session, Findings& findings) {
  CacheFacts* l2 = findings.cache("l2");
  if (l2 == nullptr || !l2->present || session.info().gpu.sm_count < 2) return {};
  Statement& statement = findings.memory("l2").structure["l2_sides"];
  const auto leave_open = [&](std::string_view by, std::string_view why) {
    statement = undecided(by, why);
    state_near_latency(*l2, findings.memory("l2").attributes["latency"]);
    return Expected<void>();
  };
  const auto sms = spread_sms(session.info().gpu.sm_count, most_sms);
  auto later = look_later(session, sms, l2->overhead_cycles);
  if (!later) {
    leave_open("lines_by_sm", "not all SMs could be asked");
    return tl::unexpected<Error>(later.error());
  }
  const std::uint64_t samples = sms.size() * later->front().size() * looks_at_a_line;
  const double lost_from = l2->levels.threshold_cycles - l2->overhead_cycles;
  const bool all_hit = are_hits(*later, lost_from);
  if (Homes homes = homes_of(*later); homes.sides > 1 && all_hit) {
    // Lines that are lost look near to all: none is nearer to another SM.
    for (std::vector<double>* lines : {&homes.near, &homes.far})
      std::erase_if(*lines, [&](double cycles) { return cycles >= lost_from; });
    state_homes(session, findings, homes, samples);
    return {};
  }
  if (!findings.l2_sets) return leave_open("first_loads", "which SMs share it isn't known");
  const Findings::L2Sets& found = *findings.l2_sets;
  if (!found.why_open.empty()) return leave_open("first_loads", found.why_open);
  const bool is_one_set = found.sets.size() == 1;
  const std::string why = why_lines_leave_open(as_hits(*later, lost_from), is_one_set, all_hit);
  if (!why.empty()) {
    // Whatever comes of asking pages, which not every device or busy GPU answers.
    leave_open("lines_by_sm", why);
    findings.may_have_sides = why == sides_or_distance;
    auto pages = is_one_set ? hits_of_pages(session, sms, l2->levels, l2->overhead_cycles)
                            : Expected<std::optional<std::vector<std::vector<double>>>>(std::nullopt);
    if (!pages) return tl::unexpected<Error>(pages.error());
    const auto stretches = *pages ? stretches_of(**pages) : std::vector<std::vector<std::vector<double>>>();
    for (const auto& by_stretch : stretches)
      if (const Homes homes = homes_of(by_stretch); homes.sides > 1) {
        findings.may_have_sides = false;
        state_homes(session, findings, homes, samples);
        return {};
      }
    return {};
  }
  if (is_one_set || !found.shares) {
    statement = decided("1", "first_loads", found.samples);
    return {};
  }
  // Far hits are hits: memory is what is slower than these, too.
  Histogram hits = l2->levels.hit;
  for (const double cycles : found.far) add(hits, static_cast<std::uint32_t>(cycles));
  l2->levels = levels_of(std::move(hits), l2->levels.next);
  // Which of both it is shows in how much an SM finds near, or in what is lost: l2_geometry.cpp, l2_behind.cpp.
  const double clock_cycles = l2->overhead_cycles - l2->quartile_cycles;
  findings.beyond_own_l2 = {found.sets.size(),
                            without_clock(median_estimate(found.far, 1, "cycles", "first_loads"), clock_cycles),
                            found.samples};
  statement = undecided("first_loads", "whether this is one L2 with sides or several with a cache behind isn't known");
  return {};
}

}  // namespace gputopo::experiments
