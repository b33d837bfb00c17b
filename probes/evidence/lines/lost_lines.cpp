#include "evidence/lines/lost_lines.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "evidence/inference/curves.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/lines/near_and_far.hpp"

namespace gputopo::evidence {
namespace {

constexpr std::string_view lost_lines_method = "miss_latency";

// What the quartile of `looks` hits takes on average: the k-th of n is at most x where k of them are.
double quartile_of_hits(const Histogram& hits, std::size_t looks) {
  const std::size_t rank = lower_quartile_rank(looks);
  const auto all = static_cast<double>(total(hits));
  double mean = 0, before = 0, below = 0;
  for (const auto& bin : hits) {
    below += static_cast<double>(bin.count);
    const double share = std::min(1.0, below / all);
    double reached = 0, ways = 1;  // P(more than `rank` of them are at most this)
    for (std::size_t of = 0; of <= looks; ++of) {
      if (of > rank)
        reached +=
            ways * std::pow(share, static_cast<double>(of)) * std::pow(1 - share, static_cast<double>(looks - of));
      ways *= static_cast<double>(looks - of) / static_cast<double>(of + 1);
    }
    mean += (reached - before) * bin.latency_cycles;
    before = reached;
  }
  return mean;
}

// Halfway between hits and the nearest of what was lost: of misses close to hits none is left out, nor of those that
// are much nearer than what the threshold was found by, as memory's loads, while another program fills the L2.
double halfway(const LostBySm& looks, const Levels& levels) {
  constexpr double nearest = 0.25;
  const double hits_end = std::min(levels.threshold_cycles, reach_of(levels.hit));
  Histogram missed;
  for (const LooksByLine& of_sm : looks)
    for (const auto& of_line : of_sm)
      for (const std::uint32_t cycles : of_line)
        if (cycles >= hits_end) add(missed, cycles);
  const auto lost = quantile(missed, nearest);
  return lost ? std::min(levels.threshold_cycles, (*lost + quantile(levels.hit, 0.5).value_or(0)) / 2)
              : levels.threshold_cycles;
}

// Within Tukey's fences: a line that others always delay, or that is lost further than the rest, says nothing here.
std::vector<double> without_outliers(std::vector<double> numbers) {
  std::sort(numbers.begin(), numbers.end());
  const double low = numbers[numbers.size() / 4], high = numbers[numbers.size() * 3 / 4];
  const double reach = 1.5 * (high - low) + 1;
  std::erase_if(numbers, [&](double x) { return x < low - reach || x > high + reach; });
  return numbers;
}

std::vector<double> near_of(std::vector<double> hits, bool near_alone) {
  if (near_alone && hits.size() >= 2)
    std::erase_if(hits, [threshold = two_kinds(hits).threshold](double cycles) { return cycles >= threshold; });
  return hits;
}

// One place may be as far from the mean of all as nearly all of a level's own `hits` are.
void widen_to_any_place(Estimate& penalty, const std::vector<double>& hits) {
  constexpr double either_end = 0.025;
  if (hits.size() < 2 || !penalty.interval) return;
  double sum = 0;
  Histogram all;
  for (const double cycles : hits) sum += cycles, add(all, static_cast<std::uint32_t>(std::lround(cycles)));
  const double mean = sum / static_cast<double>(hits.size());
  const double nearer = mean - quantile(all, either_end).value_or(mean);
  const double farther = quantile(all, 1 - either_end).value_or(mean) - mean;
  penalty.interval->low = std::min(penalty.interval->low, *penalty.value - farther);
  penalty.interval->high = std::max(penalty.interval->high, *penalty.value + nearer);
}

// By how much a level's own lines differ as two kinds: slices lie at different distances.
double lines_apart(std::vector<double> hits) {
  if (hits.size() < 2) return 0;
  const TwoKinds kinds = two_kinds(std::move(hits));
  return kinds.far - kinds.near;
}

// A mean of them would be no level's. What lines of one level lie apart says nothing.
bool are_of_two_levels(const std::vector<double>& penalties, double hit_cycles, double apart_cycles) {
  constexpr double clear_cut = 0.1;  // share of lines that strangers and distance may leave between the kinds
  if (penalties.size() < 2) return false;
  const TwoKinds kinds = two_kinds(penalties);
  return kinds.share_between <= clear_cut &&
         hit_cycles + kinds.far - apart_cycles > least_ratio * (hit_cycles + kinds.near);
}

}  // namespace

DecidingCurve LostLines::curve(std::string_view memory) const {
  return numbers_curve(memory, "miss_penalty", {"cycles more than a hit", "cycles", false}, "lost lines", by_line,
                       penalty);
}

LostLines penalty_of_lost(const LostBySm& looks, const Levels& levels, std::optional<double> far_less_near_cycles,
                          std::vector<double> next_hits, Places places) {
  const double from = halfway(looks, levels);
  std::vector<std::vector<double>> by_sm;
  std::vector<double> all;
  std::size_t samples = 0;
  std::map<std::size_t, double> hits;  // by looks
  for (const LooksByLine& of_sm : looks) {
    by_sm.emplace_back();
    for (std::vector<std::uint32_t> of_line : of_sm) {
      std::erase_if(of_line, [&](std::uint32_t cycles) { return cycles < from; });
      const std::size_t n = of_line.size();
      if (n < fewest_looks) continue;
      std::nth_element(of_line.begin(), of_line.begin() + static_cast<std::ptrdiff_t>(lower_quartile_rank(n)),
                       of_line.end());
      if (!hits.contains(n)) hits[n] = quartile_of_hits(levels.hit, n);
      by_sm.back().push_back(of_line[lower_quartile_rank(n)] - hits[n]);
      all.push_back(by_sm.back().back());
      samples += n;
    }
  }
  if (samples < 8 || all.size() < 2)
    return {inconclusive("cycles", lost_lines_method, "too few loads that miss were seen"), all};
  if (far_less_near_cycles) {
    const TwoKinds kinds = two_kinds(all);
    // Kinds that are nearer to one than to two: lines of one side alone.
    if (kinds.far - kinds.near < *far_less_near_cycles / 2)
      return {inconclusive("cycles", lost_lines_method, "whether these lines lie near or far in the L2 can't be told"),
              all};
    for (auto& of_sm : by_sm) std::erase_if(of_sm, [&](double cycles) { return cycles >= kinds.threshold; });
  }
  // Places of lines and places of SMs each have their part in it; the one seen more often has the finer mean.
  std::vector<double> means, lines;
  for (const auto& of_sm : by_sm) {
    if (of_sm.empty()) continue;
    const std::vector<double> usual = without_outliers(of_sm);
    means.push_back(*mean_estimate(usual, "cycles", lost_lines_method).value);
    lines.insert(lines.end(), usual.begin(), usual.end());
  }
  next_hits = near_of(std::move(next_hits), far_less_near_cycles.has_value());
  const double apart = lines_apart(next_hits);
  if (are_of_two_levels(lines, quantile(levels.hit, 0.5).value_or(0), apart))
    return {
        inconclusive("cycles", lost_lines_method, "some of the lost lines were served by another level than the rest"),
        all};
  const bool by_sms = means.size() > 2;
  // All in one place, of those that there are: elsewhere they'd be as far as another SM finds them here.
  const double and_one_place = by_sms ? std::sqrt(static_cast<double>(means.size()) + 1) : 1;
  Estimate penalty = mean_estimate(by_sms ? means : lines, "cycles", lost_lines_method, and_one_place);
  if (places == Places::one) widen_to_any_place(penalty, next_hits);
  penalty.samples = samples;
  return {std::move(penalty), std::move(lines)};
}

}  // namespace gputopo::evidence
