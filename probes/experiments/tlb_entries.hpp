// One level of TLBs by circles of lines, one to an entry: how many it holds, and what losing one costs.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "evidence/looks/search.hpp"
#include "evidence/organisation/collisions.hpp"
#include "evidence/organisation/line_times.hpp"
#include "evidence/translation/tlb_levels.hpp"
#include "evidence/translation/tlb_sets.hpp"

namespace gputopo::experiments {

struct TlbLevel {
  std::size_t number = 0;       ///< 1: the nearest
  evidence::EntrySize entry;    ///< what one covers
  double in_front_cycles = 0;   ///< what misses of all levels before this one cost
  double lost_cycles = 0;       ///< the same of this one, too
  std::uint64_t in_front = 0;   ///< entries of the level before
  std::uint64_t kept_to = 0;    ///< places after which most looks still found a line's translation in this level
  std::uint64_t lost_from = 0;  ///< places after which it was gone from there
  std::uint64_t l2_bytes = 0;   ///< what the L2 holds; 0: there is none, or nobody knows
};

struct FittingEntries {
  Estimate reach;           ///< the largest circle of which no entry is lost, in bytes
  std::uint64_t about = 0;  ///< the likeliest number of entries, sure or not; 0: there is none
};

/// How the lines of a level's circles lie.
struct PageLayout {
  std::uint64_t stride_bytes = 0, most_lines = 0;
};

/// One of which the L2 keeps all lines while a circle is walked that loses entries; nothing where it keeps those of
/// none. The level's entry size is known. Errors are the session's.
Expected<std::optional<PageLayout>> page_layout(evidence::Pages& pages, const TlbLevel& level, std::uint32_t sm);

class TlbEntries {
 public:
  /// `pages` and `level` must outlive it.
  TlbEntries(evidence::Pages& pages, std::string_view id, const TlbLevel& level, const PageLayout& layout,
             std::uint32_t sm);
  TlbEntries(const TlbEntries&) = delete;
  TlbEntries& operator=(const TlbEntries&) = delete;

  Expected<FittingEntries> fitting();
  /// Whether lines of that circle are late by less than this level's misses: then a nearer one loses them that hardly
  /// holds fewer, and all that was taken for this level's is of two.
  Expected<bool> hides_a_level(std::uint64_t entries);
  /// What collides, where `entries` fit. Needs fitting() first.
  Expected<evidence::Collisions> collisions(std::uint64_t entries);
  /// What the sets hold together; nothing where those that were seen needn't be all. What fits is less where an index
  /// fills the sets unevenly, or where somebody else takes an entry. Where `seen` doesn't tell them and growing circles
  /// do, it becomes what these lose.
  Expected<std::optional<evidence::HeldEntries>> held(std::uint64_t entries, evidence::Collisions& seen);
  /// Cycles that a line takes longer than with nothing lost, the median of those that the level has just lost.
  Expected<std::optional<double>> lost_cycles(std::uint64_t entries);

  evidence::Circles& circles() { return circles_; }

 private:
  Expected<std::optional<evidence::HeldEntries>> held_by_steps(std::uint64_t entries, evidence::Collisions& seen);
  Expected<bool> goes_in_order(const evidence::Collisions& told, const evidence::Effort& effort);
  Expected<std::vector<double>> time_circle(const evidence::Circle& circle);
  std::uint64_t fewest_lines() const;  // that the level before doesn't hold, and this one is sure to
  Expected<void> learn_strangers();
  Expected<void> time_fitting(std::uint64_t lines);
  double share_of_fitting(const std::function<bool(double)>& is_one) const;
  double scatter_of_fitting() const;
  Expected<evidence::Counts> count(const std::vector<evidence::RowRequest>& rows, std::size_t replicates);

  evidence::Pages& pages_;
  const TlbLevel& level_;
  std::uint64_t most_lines_ = 0;
  evidence::LineTimes times_;
  evidence::CacheFacts facts_;
  evidence::Circles circles_;
  std::vector<double> fitting_;  // what loads of circles that fit took longer than what is lost in front explains
  std::vector<evidence::Tally> fitting_by_circle_;  // of these, and how many were late
  std::uint32_t launch_ = 0;
};

}  // namespace gputopo::experiments
