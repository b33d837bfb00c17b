#include "evidence/lines/pushed_further.hpp"

#include <algorithm>
#include <cmath>

namespace gputopo::evidence {

LooksByLine coarse(const LooksByLine& looks, std::uint64_t stride) {
  LooksByLine some;
  for (std::size_t i = 0; i < looks.size(); i += std::max<std::size_t>(1, coarse_stride_bytes / stride))
    some.push_back(looks[i]);
  return some;
}

// The same lines as in the circle: others may lie on another side of the L2. Of caches that don't go by age what pushes
// some out leaves others there, which look like misses that are as fast as hits: these are pushed further as long as
// that leaves half as many; what more would push out is pushed further than it need be.
Expected<PushedOut> push_out(Session& session, std::optional<std::uint64_t> near_l2_bytes, const CacheFacts& l1,
                             const Histogram& second) {
  constexpr double hardly_any = 0.05, fewest_loads = 8;
  PushedOut result;
  double left = 1;
  const auto evictions = evictions_of(session.info(), l1.circle_bytes(), near_l2_bytes);
  for (const Eviction& e : evictions) {
    // One load a line, however long that is: the next one of a line finds what the first brought in.
    auto cold = time_cold(session, coarse_stride_bytes, l1.asked_bytes(), e);
    // More takes longer: those count that a neighbour left time for.
    if (!cold && cold.error().kind == Error::Kind::unavailable && !result.graded.empty()) break;
    if (!cold) return tl::unexpected<Error>(cold.error());
    const Histogram all = histogram_of(*cold);
    Histogram timed = between(all, l1.levels.threshold_cycles, 1e9);
    // What the L1 still has is none of these, but for strangers among its hits.
    const double strangers = l1.levels.false_miss * static_cast<double>(total(all));
    const bool are_strangers = static_cast<double>(total(timed)) < strangers + 4 * std::sqrt(strangers) + fewest_loads;
    if (are_strangers && result.graded.empty() && &e != &evictions.back()) continue;
    const Levels told = levels_of(second, timed);
    if (left < 1 && (!told.usable() || told.false_hit > left / 2)) break;
    result.last = e;
    result.graded.push_back(std::move(timed));
    result.after = std::move(*cold);
    if (!told.usable()) result.before = result.after;
    if (told.usable()) left = told.false_hit;
    if (left < hardly_any) break;
  }
  return result;
}

// Of a few lines of a circle all may be farther away than the others, so the same ones are compared. Looked at one
// after the other an L1 that replaces in order has most of them still; of all lines, in their turns, it loses what it
// did in the circle. One that replaces at random has any of them most of the time: of more looks those that it lost are
// held against as many at the same line. What it never lost is held against nothing.
Expected<bool> are_pushed_further(Session& session, const CacheFacts& l1, PushedOut& out) {
  const auto lost = [&](const LooksByLine& looks) {
    return between(histogram_of(looks), l1.levels.threshold_cycles, 1e9);
  };
  for (const std::uint64_t stride : {coarse_stride_bytes, l1.asked_bytes()}) {
    auto timed = time_cold(session, stride, l1.asked_bytes(), {l1.circle_bytes(), 0, 0, 0});
    if (!timed) return tl::unexpected<Error>(timed.error());
    out.before = coarse(*timed, stride);
    const std::vector<double> usual = undisturbed_by_line(out.before);
    LooksByLine after;
    for (std::size_t line = 0; line < std::min(usual.size(), out.after.size()); ++line)
      if (usual[line] >= l1.levels.threshold_cycles) after.push_back(out.after[line]);
    if (levels_of(lost(out.before), lost(after)).usable()) return true;
  }
  constexpr int more_rounds = 3;
  for (int round = 0; round < more_rounds; ++round) {
    auto timed = time_cold(session, l1.asked_bytes(), l1.asked_bytes(), {l1.circle_bytes(), 0, 0, 0});
    if (!timed) return tl::unexpected<Error>(timed.error());
    const LooksByLine more = coarse(*timed, l1.asked_bytes());
    for (std::size_t line = 0; line < std::min(more.size(), out.before.size()); ++line)
      out.before[line].insert(out.before[line].end(), more[line].begin(), more[line].end());
  }
  const PushedLooks same = same_places(out.before, out.after, l1.levels.threshold_cycles);
  return levels_of(same.before, same.after).usable();
}

std::vector<double> pushed_lines_beyond(const PushedOut& out, const CacheFacts& l1, double threshold_cycles) {
  const std::vector<double> before = undisturbed_by_line(out.before), after = undisturbed_by_line(out.after);
  std::vector<double> more;
  for (std::size_t line = 0; line < std::min(before.size(), after.size()); ++line)
    if (before[line] >= l1.levels.threshold_cycles && after[line] >= threshold_cycles)
      more.push_back(after[line] - before[line]);
  return more;
}

Expected<bool> are_delayed_by_line(Session& session, const CacheFacts& l1, const Histogram& second) {
  if (!hold_more_than_strangers(second)) return false;
  auto timed = time_cold(session, l1.asked_bytes(), l1.asked_bytes(), {l1.circle_bytes(), 0, 0, 0});
  if (!timed) return tl::unexpected<Error>(timed.error());
  std::size_t looks = 0, delayed = 0;
  for (std::vector<std::uint32_t>& of_line : *timed) {
    std::erase_if(of_line, [&](std::uint32_t cycles) { return cycles < l1.levels.threshold_cycles; });
    const std::vector<double> usual = undisturbed_by_line({of_line});
    if (usual.empty()) continue;
    looks += of_line.size();
    const double fence = usual.front() + std::min(least_fence_cycles, (half_a_level - 1) * usual.front());
    for (const std::uint32_t cycles : of_line) delayed += cycles > fence ? 1 : 0;
  }
  return looks < fewest_looks || are_more_than_strangers(delayed, looks);
}

}  // namespace gputopo::evidence
