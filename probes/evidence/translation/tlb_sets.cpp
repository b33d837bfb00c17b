#include "evidence/translation/tlb_sets.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace gputopo::evidence {

void FirstLosses::add(const std::vector<std::uint64_t>& lost, std::uint64_t lines) {
  if (lines_before_ == 0) begins_whole_ = lost.size() <= 1;
  FirstLoss first{lines_before_, {}};
  for (const std::uint64_t line : lost)
    if (before_.contains(line) && known_.insert(line).second) first.lost.push_back(line);
  // One is a set's that lost its others before.
  if (first.lost.size() > 1) by_step_.push_back(std::move(first));
  if (!by_step_.empty()) most_kept_ = std::max<std::uint64_t>(most_kept_, lines - lost.size());
  before_ = {lost.begin(), lost.end()};
  lines_before_ = lines;
}

// Nearly always those of one set, which the circle's new line overflows. Now and then one fewer, where somebody else
// has an entry in the set, or one more, that was part of a set lost before, or those of two, of which one was seen
// late; where that is more often, sets differ in their ways.
std::optional<HeldEntries> sets_of(const FirstLosses& losses, std::uint64_t in_front) {
  constexpr double nearly_always = 0.95;
  if (!losses.begins_whole()) return std::nullopt;
  const std::vector<FirstLoss>& steps = losses.by_step();
  if (losses.are_of_one_set(in_front)) {
    const std::uint64_t ways = steps.front().circle_lines - 1;
    return HeldEntries{ways, 1, ways, 0};
  }
  std::map<std::uint64_t, std::size_t> counts;
  for (const FirstLoss& step : steps) ++counts[step.lost.size()];
  if (counts.empty()) return std::nullopt;
  const std::uint64_t set =
      std::max_element(counts.begin(), counts.end(), [](auto& a, auto& b) { return a.second < b.second; })->first;
  std::uint64_t sets = 0, whole = 0;
  for (const FirstLoss& step : steps) {
    sets += (step.lost.size() + set / 2) / set;
    whole += step.lost.size() == set ? 1 : 0;
  }
  if (static_cast<double>(whole) < nearly_always * static_cast<double>(steps.size())) return std::nullopt;
  return HeldEntries{sets * (set - 1), sets, set - 1, 0};
}

std::optional<Collisions> collisions_of(const FirstLosses& losses, const HeldEntries& held) {
  Collisions told;
  told.held_lines = held.entries;
  told.always = true;
  if (held.sets == 1) {
    // What a level in front answered is of the set, too.
    told.complete = true;
    told.fits = held.entries;
    told.sets.emplace_back(held.entries + 1);
    std::iota(told.sets.front().begin(), told.sets.front().end(), std::uint64_t{0});
    return told;
  }
  std::vector<FirstLoss> whole = losses.by_step();
  std::erase_if(whole, [&](const FirstLoss& step) { return step.lost.size() != held.ways + 1; });
  if (whole.empty()) return std::nullopt;
  // The first ones may lose several sets at once, which something else kept lines of, and go on keeping some.
  std::swap(whole.front(), whole[whole.size() / 2]);
  told.fits = whole.front().circle_lines - 1;
  for (FirstLoss& step : whole) told.sets.push_back(std::move(step.lost));
  told.complete = told.sets.size() == held.sets;
  return told;
}

}  // namespace gputopo::evidence
