#include "evidence/held/held_looks.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "change_point/random.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/looks/footprint.hpp"
#include "program/order.hpp"

namespace gputopo::evidence::held {
namespace {

constexpr std::uint32_t rounds_in_order = 2;  // of those walked, where the others needn't be
constexpr std::uint32_t rounds_in_no_order = 2;
constexpr std::uint32_t least_looks = 3;

// Lines looked for in one go, the newest first: each that is missing pushes one out, which is an older one of its set
// where the oldest goes, else any: of one line in 64 looked for together the last miss 0.8 %, all of them 0.4 %.
std::uint64_t looked_for_together(std::uint64_t capacity_lines) {
  return std::max<std::uint64_t>(1, capacity_lines / 64);
}

bool is_prime(std::uint64_t n) {
  for (std::uint64_t d = 2; d * d <= n; ++d)
    if (n % d == 0) return false;
  return true;
}

}  // namespace

Together Plan::stretch(std::uint64_t i) const {
  if (i == programs_of_older()) return {is_downwards ? 0 : older(), newest, 1, 0, true};
  const std::uint64_t first_older = is_downwards ? newest : 0;
  if (apart > 1) return {first_older + i, (older() - 1 - i) / apart + 1, apart, newest, false};
  const std::uint64_t before = i * at_once, wanted = std::min(at_once, older() - before);
  const std::uint64_t newer = lines - before - wanted;
  return {is_downwards ? newer : before, wanted, 1, newer, false};
}

Plan plan_of(std::uint64_t capacity_lines, double factor, std::uint32_t looks) {
  Plan plan;
  plan.capacity_lines = static_cast<double>(capacity_lines);
  plan.lines = static_cast<std::uint64_t>(plan.capacity_lines * factor);
  plan.at_once = looked_for_together(capacity_lines);
  plan.looks = looks;
  while (plan.looks > least_looks && plan.loads() > most_loads) --plan.looks;
  return plan;
}

void look_all_over(Plan& plan) {
  if (plan.at_once == 1 || plan.programs_of_older() == 1) return;
  plan.apart = plan.programs_of_older();
  while (!is_prime(plan.apart)) ++plan.apart;
}

void look_singly(Plan& plan) {
  Plan singly = plan;
  singly.at_once = 1;
  while (singly.looks > least_looks && singly.loads() > most_loads) --singly.looks;
  if (singly.loads() <= most_loads)
    plan = singly;
  else
    look_all_over(plan);
}

void look_past_front(Plan& plan, const CacheFacts& cache) {
  constexpr std::uint64_t in_front_and_older = 2;
  const std::uint64_t in_front = cache.front_capacity_bytes / cache.front_line_bytes;
  const auto newest = std::min(in_front_and_older * in_front, static_cast<std::uint64_t>(plan.capacity_lines / 2));
  if (newest > in_front && newest < plan.lines) plan.newest = newest;
}

program::Program look_program(Session& session, const CacheFacts& cache, Scope isolation, const Plan& plan,
                              const Together& stretch) {
  program::Program p = make_program(fmt::format("{} lines of {} as they are held", cache.path.id, plan.lines),
                                    session.info(), cache.path.slot);
  p.isolation = isolation;
  // By a warp but in the last rounds, which leave a cache as it always is: so it fits between two turns of other
  // processes. One lane where kernels read constants of their own, and where a cache in front answers what all lanes
  // ask for.
  const bool in_order = kernels_read(cache.path.slot) || cache.front_line_bytes != 0;
  FootprintSpec spec;
  spec.path = cache.path;
  spec.stride_bytes = cache.stride();
  spec.front_line_bytes = cache.front_line_bytes;
  spec.warm_laps = in_order ? walked_rounds : rounds_in_order;
  const std::uint64_t bytes = plan.lines * cache.stride();
  if (cache.path.slot != slot_code) {
    program::Walk at_first = make_walk(cache.path, bytes, cache.stride(), rounds_in_no_order);
    at_first.order = program::Order::shuffled;
    p.phases = {in_order ? at_first : by_one_warp(at_first)};
  }
  program::Walk walk = rounds_of(spec, bytes, 1);
  const std::uint64_t turns = turns_of_line(cache.stride(), cache.front_line_bytes);
  if (turns > 1) {
    // All that a line is asked for by, of every line, and one piece more: it takes so many loads until each was walked
    // once, and the last round comes to all lines from the first on.
    walk.footprint_bytes += 2 * walk.stride_bytes;
    const std::uint64_t all = program::positions(walk);
    walk.lead_loads = (walk.lead_loads + all - 1) / all * all;
  }
  const std::uint64_t last = stretch.first + (stretch.lines - 1) * stretch.apart, step = turns * stretch.apart;
  const bool is_upwards = stretch.oldest_first && !plan.is_downwards;
  walk.tail_first = (is_upwards ? stretch.first : last) * turns;
  walk.tail_step = is_upwards ? step : program::positions(walk) - step;
  walk.loads_per_lap = walk.lead_loads + stretch.lines;
  p.phases.emplace_back(walk);
  return p;
}

// Not in order: a cache that isn't emptied in between must not come to the same line in step with the looks. What goes
// round in a way of its own may be in step with any regular order, what replaces at random with none.
std::vector<std::uint64_t> looks_of(const Plan& plan) {
  const std::uint64_t all = plan.programs() * plan.looks;
  const program::Stepping order = program::stepping(program::Order::shuffled, plan.lines, all);
  std::vector<std::uint64_t> stretches;
  for (std::uint64_t at = order.first; stretches.size() < all; at = program::advance(at, order.step, all))
    stretches.push_back(at / plan.looks);
  if (plan.in_any_order) change_point::Random(plan.lines).shuffle(stretches);
  return stretches;
}

Looked look_at(const Histogram& timed, const CacheFacts& cache, const Together& stretch, double capacity_lines) {
  const auto looked = static_cast<double>(total(timed));
  const auto missing = static_cast<double>(count_from(timed, cache.levels.threshold_cycles));
  const auto told = static_cast<double>(count_from(timed, cache.front_threshold_cycles));
  const bool is_new = !stretch.oldest_first && stretch.newer * cache.front_line_bytes <= cache.front_capacity_bytes;
  if (is_new && told < looked) return {looked - missing, looked - told};
  // Lines far from one another were walked at other times, so the others say nothing of what it answered.
  if (told == 0 || (told < looked && stretch.apart > 1)) return {};
  const double lost = missing / told;
  // What is newer is held as surely as these or always. What is missing pushes another line out: any, or, where some
  // ways are replaced sooner than others, one of the newest; half of these are looked for later.
  if (!stretch.oldest_first) return {looked * (1 - lost), 0, 0};
  const double in_front = (looked - told) * lost, by_any = missing / 2 * looked / capacity_lines, by_new = missing / 2;
  const double more = (in_front + by_any) / 2;
  return {looked * (1 - lost) + more, 0, in_front + by_new - more};
}

std::vector<double> held_each_time(const std::vector<std::optional<double>>& looks, std::uint64_t lines,
                                   double& in_front) {
  std::vector<double> told;
  for (const auto& held : looks)
    if (held) told.push_back(*held);
  if (told.empty()) in_front += static_cast<double>(lines * looks.size());
  const double otherwise = told.empty() ? static_cast<double>(lines) : median(told);
  std::vector<double> all;
  for (const auto& held : looks) all.push_back(held.value_or(otherwise));
  return all;
}

double hidden_in_front(const std::vector<std::optional<double>>& looks, std::uint64_t lines) {
  double held = 0, told = 0;
  for (const auto& look : looks)
    if (look) held += *look, ++told;
  const auto all = static_cast<double>(looks.size());
  return told == 0 ? 0 : (static_cast<double>(lines) - held / told) * (all - told) / all;
}

}  // namespace gputopo::evidence::held
