#include "evidence/translation/tlb_sets.hpp"

#include <algorithm>
#include <map>

namespace gputopo::evidence {

void FirstLosses::add(const std::vector<std::uint64_t>& lost, std::uint64_t lines) {
  if (lines_before_ == 0) begins_whole_ = lost.size() <= 1;
  std::uint64_t count = 0;
  for (const std::uint64_t line : lost)
    if (before_.contains(line) && known_.insert(line).second) ++count;
  // One is a set's that lost its others before.
  if (count > 1 && by_step_.empty()) first_lines_ = lines_before_;
  if (count > 1) by_step_.push_back(count);
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
  if (losses.are_of_one_set(in_front)) return HeldEntries{losses.first_lines() - 1, 1, losses.first_lines() - 1, 0};
  const std::vector<std::uint64_t>& fresh = losses.by_step();
  std::map<std::uint64_t, std::size_t> counts;
  for (const std::uint64_t f : fresh) ++counts[f];
  if (counts.empty()) return std::nullopt;
  const std::uint64_t set =
      std::max_element(counts.begin(), counts.end(), [](auto& a, auto& b) { return a.second < b.second; })->first;
  std::uint64_t sets = 0, whole = 0;
  for (const std::uint64_t f : fresh) {
    sets += (f + set / 2) / set;
    whole += f == set ? 1 : 0;
  }
  if (static_cast<double>(whole) < nearly_always * static_cast<double>(fresh.size())) return std::nullopt;
  return HeldEntries{sets * (set - 1), sets, set - 1, 0};
}

}  // namespace gputopo::evidence
