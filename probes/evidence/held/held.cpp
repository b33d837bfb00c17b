#include "evidence/held/held.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "evidence/held/held_counts.hpp"
#include "evidence/held/held_looks.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/looks/footprint.hpp"

namespace gputopo::evidence {
namespace {

constexpr double most_factor = 16;
constexpr std::size_t most_at_once = 2048;  // programs in a batch: each has a record of its own

Expected<held::Counted> count(Session& session, const CacheFacts& cache, Scope isolation, const held::Plan& plan) {
  const std::vector<std::uint64_t> looks = held::looks_of(plan);
  std::vector<std::vector<std::optional<double>>> seen(plan.programs());
  Histogram all;
  double in_front = 0, off = 0, hidden = 0;
  for (std::size_t done = 0; done < looks.size();) {
    program::Batch batch;
    const auto stretches = std::span(looks).subspan(done, std::min(most_at_once, looks.size() - done));
    done += stretches.size();
    for (const std::uint64_t i : stretches)
      batch.push_back(held::look_program(session, cache, isolation, plan, plan.stretch(i)));
    auto traces = session.run(batch);
    if (!traces) return tl::unexpected<Error>(traces.error());
    for (std::size_t i = 0; i < traces->size(); ++i) {
      const Histogram& timed = (*traces)[i].phases.back().histogram;
      const held::Looked looked = held::look_at(timed, cache, plan.stretch(stretches[i]), plan.capacity_lines);
      seen[stretches[i]].push_back(looked.held);
      all = merged(all, timed);
      in_front += looked.in_front;
      off += looked.off;
    }
  }
  std::vector<std::vector<double>> hits;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    hits.push_back(held::held_each_time(seen[i], plan.stretch(i).lines, in_front));
    hidden += held::hidden_in_front(seen[i], plan.stretch(i).lines);
  }
  held::Counted counted = held::judge(hits, cache, plan);
  // Hits of an SM's own cache are as long wherever it lies; misses, from some places, may be as short as late hits.
  if (isolation == Scope::sm) held::take_off_short_misses(counted, cache, all, plan.looks);
  counted.in_front = in_front / plan.looks;
  const double unsure =
      static_cast<double>(total(between(all, cache.levels.threshold_cycles, cache.levels.surely_missed_cycles)));
  counted.hidden = hidden + unsure / plan.looks;
  constexpr double half_a_line = 0.5;  // what looks alike pushes out, they don't tell
  counted.exact = counted.exact && off < half_a_line * plan.looks && counted.hidden < half_a_line;
  if (!counted.exact) counted.error += off / plan.looks;
  return counted;
}

}  // namespace

Expected<Held> count_held(Session& session, const CacheFacts& cache, std::uint64_t about_bytes, Scope isolation,
                          Care care) {
  const std::uint64_t about = std::max<std::uint64_t>(1, about_bytes / cache.stride());
  const std::uint64_t one_more = cache.front_line_bytes == 0 ? 0 : 1;  // (look_program)
  const std::uint64_t room = room_of(session.info(), cache.path.slot) / cache.stride() - one_more;
  const auto line = static_cast<double>(cache.stride());
  const std::uint64_t turns = turns_of_line(cache.stride(), cache.front_line_bytes);
  Held found;
  std::vector<held::Counted> counts;
  // Where lines are few per set some sets stay empty for long; large caches have no time for that, and others no room.
  constexpr std::uint64_t many = 512;
  const bool is_tight = about > many || 4 * about > room;
  const double growth = about > many ? 1.4 : is_tight ? 4.0 / 3 : 2;
  for (double factor = is_tight ? 1.5 : 2; factor <= most_factor && !found.steady; factor *= growth) {
    held::Plan plan = held::plan_of(about, factor, held_fewest_looks);
    const bool is_last = plan.lines > room;
    const double least_lines = counts.empty() ? 1.125 * static_cast<double>(about) : 1.2 * counts.back().lines;
    if (is_last && static_cast<double>(room) < least_lines) break;
    plan.lines = std::min(plan.lines, room);
    if (plan.loads() > held::most_loads) break;
    plan.is_downwards = cache.path.slot == slot_code && turns == 1;
    if (cache.front_line_bytes != 0) held::look_past_front(plan, cache);
    plan.in_any_order = care != Care::few_looks;
    const bool is_told_apart = cache.front_line_bytes == 0 || plan.newest != 0;  // what is in front from older lines
    if (care == Care::many_looks && is_told_apart) held::look_all_over(plan);
    if (care == Care::single_looks && is_told_apart) held::look_singly(plan);
    auto counted = count(session, cache, isolation, plan);
    if (counted && !counted->exact && care == Care::many_looks) {
      const std::uint32_t wanted = held::looks_for(plan, *counted);
      plan.looks = std::max(wanted, plan.looks);
      if (wanted > held_fewest_looks) counted = count(session, cache, isolation, plan);
    }
    if (!counted) return tl::unexpected<Error>(counted.error());
    found.line_bytes = line;
    found.samples += counted->samples;
    found.walked_bytes = static_cast<double>(plan.lines) * line;
    counts.push_back(*counted);
    found.fewest_bytes = std::min(found.fewest_bytes, (counted->near + counted->error) * line);
    if (is_last) factor = most_factor;
    held::Capacity capacity = held::when_full(counts);
    const double one_piece_more = turns > 1 ? 1 : 0;  // (look_program)
    const double hidden = std::max(counted->hidden, counts.size() < 2 ? 0 : counts.rbegin()[1].hidden);
    held::widen_by_unsure(capacity, cache.levels, one_piece_more + hidden);
    found.bytes = capacity.lines * line;
    found.interval = held::interval_of(capacity, counted->in_front, line);
    found.likely = held::interval_of(held::likely(capacity), counted->in_front, line);
    found.steady = capacity.steady;
    found.exact = capacity.exact && counted->in_front == 0;
    found.is_sample = care == Care::many_looks && capacity.agreed && !found.exact;
  }
  return found;
}

}  // namespace gputopo::evidence
