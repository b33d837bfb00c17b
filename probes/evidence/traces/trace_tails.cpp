#include "evidence/traces/trace_tails.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <vector>

#include "change_point/latency_histogram.hpp"
#include "change_point/robust.hpp"
#include "stop/stop.hpp"

namespace gputopo::evidence {
namespace {

using namespace change_point;

struct Block {
  double loads = 0, bins = 0;
  double level() const { return loads / bins; }
  double log_likelihood() const { return loads > 0 ? loads * std::log(level()) : 0; }
};

// The log-likelihoods of densities that never `is_out_of_order` from one bin to the next, of the first 0, 1, 2, ...
// bins, but for a constant of all loads: isotonic regression.
template <class OutOfOrder>
std::vector<double> log_likelihoods(const std::vector<double>& counts, OutOfOrder is_out_of_order) {
  std::vector<Block> blocks;
  std::vector<double> all{0};
  double sum = 0;
  for (const double count : counts) {
    Block next{count, 1};
    while (!blocks.empty() && is_out_of_order(blocks.back().level(), next.level())) {
      sum -= blocks.back().log_likelihood();
      next.loads += blocks.back().loads, next.bins += blocks.back().bins;
      blocks.pop_back();
    }
    sum += next.log_likelihood();
    blocks.push_back(next);
    all.push_back(sum);
  }
  return all;
}

// By how much a slow load takes longer than its row's hits, and the share of the row that does.
struct SlowLoad {
  double cycles = 0, share = 0;
};

std::vector<SlowLoad> slow_loads_of(std::span<const Row> rows, double threshold_cycles) {
  constexpr std::size_t fast_in = 100;  // one in so many is faster than what counts as the row's hits
  std::vector<SlowLoad> loads;
  for (const Row& row : rows) {
    stop::look();
    std::vector<double> values = row.values;
    const auto hit = values.begin() + static_cast<std::ptrdiff_t>(values.size() / fast_in);
    std::ranges::nth_element(values, hit);
    const double slow =
        static_cast<double>(std::ranges::count_if(row.values, [&](double value) { return value >= threshold_cycles; }));
    for (const double value : row.values)
      if (value >= threshold_cycles) loads.push_back({value - *hit, slow / static_cast<double>(values.size())});
  }
  return loads;
}

// Whether slow loads are the slower the more of a row are: rank sums about their mean against the row's share, in
// standard deviations. What delays single loads delays each as long, however many it meets, and a drift all of a row.
bool are_slower_where_more(std::span<const Row> rows, double threshold_cycles) {
  constexpr double deviations = 4;
  std::vector<SlowLoad> loads = slow_loads_of(rows, threshold_cycles);
  std::ranges::sort(loads, {}, &SlowLoad::cycles);
  const double n = static_cast<double>(loads.size());
  double mean_share = 0;
  for (const SlowLoad& load : loads) mean_share += load.share / n;
  double along = 0, squares_of_ranks = 0, squares_of_shares = 0;
  for (std::size_t begin = 0, end = 0; begin < loads.size(); begin = end) {
    while (end < loads.size() && loads[end].cycles == loads[begin].cycles) ++end;
    const double rank = 0.5 * (static_cast<double>(begin + end) - n);  // equal ones share the middle one
    for (std::size_t i = begin; i < end; ++i) {
      const double beside = loads[i].share - mean_share;
      along += rank * beside, squares_of_ranks += rank * rank, squares_of_shares += beside * beside;
    }
  }
  return along > deviations * std::sqrt(squares_of_ranks * squares_of_shares / std::max(1.0, n - 1));
}

}  // namespace

bool do_slow_loads_trail_off(const Trace& trace, std::size_t fitting, double threshold_cycles) {
  constexpr std::size_t most_bins = 4096;
  constexpr double narrowest = 0.01;  // of a latency
  LatencyCounts hits, all;
  for (std::size_t i = 0; i < fitting; ++i) hits.add(trace.rows[i].values);
  for (const Row& row : trace.rows) all.add(row.values);
  std::vector<Bin> of_hits = hits.bins(most_bins);
  std::erase_if(of_hits, [&](const Bin& bin) { return bin.value >= threshold_cycles; });
  if (of_hits.empty()) return false;
  const double middle = quantile(of_hits, 0.5), spread = quantile(of_hits, 0.9) - middle;
  // Of whole counts of the clock, or bins would hold one or two of them by turns.
  const double count = clock_quantum(all.bins(most_bins)), least = std::max(spread, narrowest * middle);
  const double width = count > 0 ? std::max(1.0, std::ceil(least / count)) * count : least;
  std::vector<double> counts(most_bins, 0);
  for (const Row& row : std::span(trace.rows).subspan(fitting)) {
    stop::look();
    for (const double value : row.values)
      if (value >= middle && (value - middle) / width < most_bins)
        counts[static_cast<std::size_t>((value - middle) / width)] += 1;
  }
  while (!counts.empty() && counts.back() == 0) counts.pop_back();
  const std::vector<double> before = log_likelihoods(counts, std::less_equal<>());
  const std::vector<double> after = log_likelihoods({counts.rbegin(), counts.rend()}, std::greater_equal<>());
  double rising = before.back();
  for (std::size_t k = 1; k < counts.size(); ++k) rising = std::max(rising, before[k] + after[counts.size() - k]);
  constexpr double by_chance = 0.05;
  const double chance = std::exp(before.back() - rising) * static_cast<double>(counts.size());
  return chance > by_chance && !are_slower_where_more(std::span(trace.rows).subspan(fitting), threshold_cycles);
}

}  // namespace gputopo::evidence
