#include "evidence/organisation/drawn_losses.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "evidence/inference/curves.hpp"
#include "evidence/organisation/set_policies.hpp"

namespace gputopo::evidence {
namespace {

enum class Repeats { yes, no, unclear };

// Whether what is lost repeats after some rounds: then looks so far apart differ by strangers alone, else as often as
// two that have nothing to do with each other; halfway, where the number of looks tells these two apart.
Repeats repeats(const std::vector<Look>& own, std::size_t members, double strangers) {
  constexpr std::size_t few_rounds = 6;
  constexpr double deviations = 4;  // passed by chance once in 30,000 periods
  const std::size_t rounds = own.size() / members;
  if (rounds < few_rounds) return Repeats::no;
  const auto differing = [](double share) { return 2 * share * (1 - share); };
  const auto lost = std::count_if(own.begin(), own.end(), [](const Look& l) { return l.missed; });
  const double by_chance = differing(static_cast<double>(lost) / static_cast<double>(own.size()));
  const double half = (by_chance - differing(strangers)) / 2;
  const double fewest_looks = static_cast<double>(own.size()) / 2;
  if (half < deviations * std::sqrt(by_chance * (1 - by_chance) / fewest_looks)) return Repeats::unclear;
  for (std::size_t period = 1; 2 * period <= rounds; ++period) {
    const std::size_t shift = period * members;
    double differ = 0;
    for (std::size_t k = 0; k + shift < own.size(); ++k) differ += own[k].missed != own[k + shift].missed ? 1 : 0;
    if (differ / static_cast<double>(own.size() - shift) <= by_chance - half) return Repeats::yes;
  }
  return Repeats::no;
}

// Share of looks that a tree of bits loses of members walked round and round.
double tree_share(std::size_t members, std::uint64_t ways) {
  constexpr std::size_t settling = 64, counted = 256;
  PolicySet model(Policy::tree, static_cast<std::uint32_t>(ways));
  std::size_t lost = 0;
  for (std::size_t round = 0; round < settling + counted; ++round)
    for (std::size_t m = 0; m < members; ++m)
      if (model.load(m) && round >= settling) ++lost;
  return static_cast<double>(lost) / static_cast<double>(counted * members);
}

std::map<std::size_t, std::uint64_t> gaps_of(std::span<const std::vector<Look>> runs) {
  std::map<std::size_t, std::uint64_t> gaps;
  for (const auto& own : runs) {
    std::size_t last = own.size();
    for (std::size_t k = 0; k < own.size(); ++k) {
      if (!own[k].missed) continue;
      if (last < k) ++gaps[k - last];
      last = k;
    }
  }
  return gaps;
}

// Any line may go, or any but the one before: how far the next loss lies from the last is as likely one as another, but
// for the farthest.
void judge_gaps(const std::map<std::size_t, std::uint64_t>& gaps, std::uint64_t ways, Replacement& result) {
  double all = 0, nearer = 0, squares = 0;
  const auto count = [&](std::size_t gap) {
    const auto it = gaps.find(gap);
    return it == gaps.end() ? 0.0 : static_cast<double>(it->second);
  };
  for (const auto& [gap, n] : gaps) all += static_cast<double>(n);
  for (std::size_t gap = 1; gap < ways; ++gap) nearer += count(gap);
  const double each = nearer / static_cast<double>(ways - 1), last = count(ways);
  for (std::size_t gap = 1; gap < ways; ++gap)
    squares += (count(gap) - each) * (count(gap) - each) / std::max(each, 1e-9);
  const double freedom = std::max(1.0, static_cast<double>(ways) - 2);
  const bool is_even = squares < freedom + 5 * std::sqrt(2 * freedom) + 5 && all - nearer - last < 0.02 * all;
  result.excluded = fmt::format(
      "what an overfull set loses doesn't repeat, so no order of use or age decides; of {:.0f} "
      "losses {:.0f} were of the line used just before",
      all, last);
  if (each < 16 || !is_even) return;
  if (std::fabs(last - each) < 4 * std::sqrt(each)) result.policy = "random";
  if (last < each / 4) result.policy = "not_most_recent";
}

}  // namespace

std::vector<Look> looks_at(const std::vector<Look>& run, const std::vector<std::uint64_t>& set) {
  std::vector<Look> own;
  for (const Look& look : run)
    if (std::binary_search(set.begin(), set.end(), look.line)) own.push_back(look);
  return own;
}

DecidingCurve gaps_curve(std::string_view memory, std::span<const std::vector<Look>> runs) {
  DecidingCurve curve = make_curve(memory, "replacement", {"looks at the set from one loss to the next", "", false},
                                   {"losses", "", false});
  curve.series = {{"of an overfull set, walked round and round", {}}};
  for (const auto& [gap, count] : gaps_of(runs))
    curve.series.front().points.emplace_back(static_cast<double>(gap), static_cast<double>(count));
  return curve;
}

Replacement judge_losses(std::span<const std::vector<Look>> runs, std::uint64_t ways, double false_miss) {
  Replacement result;
  std::size_t repeating = 0, clear = 0, looks = 0, lost = 0;
  for (const auto& own : runs) {
    const Repeats answer = repeats(own, ways + 1, false_miss);
    repeating += answer == Repeats::yes ? 1 : 0;
    clear += answer == Repeats::unclear ? 0 : 1;
    looks += own.size();
    lost += static_cast<std::size_t>(std::count_if(own.begin(), own.end(), [](const Look& l) { return l.missed; }));
  }
  if (2 * clear <= runs.size()) {
    result.excluded =
        "lines of an overfull set aren't lost in each round, so it is neither LRU nor FIFO; whether what is lost "
        "repeats "
        "doesn't show among strangers";
    return result;
  }
  if (repeating * 10 < clear) {
    judge_gaps(gaps_of(runs), ways, result);
    return result;
  }
  const double share = static_cast<double>(lost) / static_cast<double>(std::max<std::size_t>(1, looks));
  const double tree = tree_share(ways + 1, ways);
  result.excluded = fmt::format(
      "what an overfull set loses repeats, so nothing is drawn at random, and {:.3f} of its "
      "lines are lost in a round, so it is neither LRU nor FIFO; a tree of bits loses {:.3f}",
      share, tree);
  // Where a tree loses every line as well, what was lost says nothing for it.
  const double near = 0.02 + 0.05 * tree;
  if (repeating * 10 >= clear * 9 && std::fabs(share - tree) < near && tree < 1 - near) result.policy = "tree";
  return result;
}

}  // namespace gputopo::evidence
