// Sets of a TLB, from circles of pages that grow by a line at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "evidence/organisation/collisions.hpp"

namespace gputopo::evidence {

/// What all sets of a TLB hold together.
struct HeldEntries {
  std::uint64_t entries = 0;
  std::uint64_t sets = 0, ways = 0;  ///< 0 where nobody counted them
  std::uint64_t most_kept = 0;       ///< the largest circle that was seen to lose none, where sets were counted
};

/// Lines that a circle of so many was the first one to lose.
struct FirstLoss {
  std::uint64_t circle_lines = 0;
  std::vector<std::uint64_t> lost;  ///< ascending
};

/// Lines that a growing circle loses from some step on: an overfull set goes on losing its lines, what strangers delay
/// is there again in the next step.
class FirstLosses {
 public:
  /// Of a circle of `lines`.
  void add(const std::vector<std::uint64_t>& lost, std::uint64_t lines);
  /// Whether the first circle that lost any lost all that a level in front doesn't have, but for one that was seen
  /// late, and larger ones kept no more: that set was all there is.
  bool are_of_one_set(std::uint64_t in_front) const {
    return !by_step_.empty() && most_kept_ <= in_front &&
           by_step_.front().lost.size() + in_front + 1 >= by_step_.front().circle_lines;
  }
  /// Whether the first circle fitted: of what it had lost already nobody knows how many sets that was.
  bool begins_whole() const { return begins_whole_; }
  /// What each circle lost for the first time, where that was more than one line.
  const std::vector<FirstLoss>& by_step() const { return by_step_; }

 private:
  std::set<std::uint64_t> before_, known_;
  bool begins_whole_ = false;
  std::uint64_t lines_before_ = 0, most_kept_ = 0;
  std::vector<FirstLoss> by_step_;
};

/// From how many lines were lost for the first time at each step, behind a level that holds `in_front` entries. Nothing
/// where that isn't of equal sets.
std::optional<HeldEntries> sets_of(const FirstLosses& losses, std::uint64_t in_front);

/// The sets by themselves, of those steps that lost one whole: first one that was lost when half of the others were,
/// which a circle of `fits` + 1 lines overflows. Nothing where no step did.
std::optional<Collisions> collisions_of(const FirstLosses& losses, const HeldEntries& held);

}  // namespace gputopo::evidence
