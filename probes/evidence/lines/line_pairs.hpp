// Pairs of loads some distance apart, of which what is pushed in between parts those that lie in two lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "evidence/inference/sameness.hpp"
#include "evidence/looks/findings.hpp"
#include "evidence/looks/session.hpp"

namespace gputopo::evidence {

inline constexpr std::uint64_t largest_line_bytes = 512;
/// Distances beyond the line that have to part pairs as well: where the share rises with the distance it goes on to.
inline constexpr std::size_t beyond_a_line = 2;
inline constexpr std::uint64_t furthest_bytes = largest_line_bytes << (beyond_a_line + 1);

/// Pairs of loads so far apart, and of how many one was there at the end and the other wasn't.
struct PairFates {
  std::uint64_t distance_bytes = 0;
  Tally parted;
  double asked_stayed = 0;  ///< of those that parted: the one that was asked for in between stayed
  double asked_lost = 0;    ///< pairs that don't count: that one was lost before it was asked for in between
  double both_lost = 0;     ///< at the end
  double last_stayed = 0;   ///< of those that parted: the one that was looked at last stayed
  PairFates& operator+=(const PairFates& other);

  /// Either one of a pair is looked at last, as often: of two lines either one outlives the other. The probability of
  /// as many more of those looked at last by chance.
  double last_stayed_by_chance() const;
  /// Where it's more than chance, the look at the first one brought the other nearer (by a row of DRAM that it opened,
  /// or the next line with it): as many weren't there.
  void leave_out_brought_nearer();
};

/// Of one cache. Both must outlive it.
class LinePairs {
 public:
  static constexpr std::uint64_t in_a_row = 0;  ///< spacing of what is pushed

  LinePairs(Session& session, const CacheFacts& cache, std::uint64_t capacity_bytes, Scope isolation);

  /// Whether the memory has lines enough to overflow so large a cache.
  bool has_room() const;

  /// How many pairs part at each of `distances`, where what pushes lies `spacing` bytes apart, all over the memory. In
  /// shorter programs where those are interrupted every time. Errors are the session's.
  Expected<std::vector<PairFates>> run(const std::vector<std::uint64_t>& distances, std::uint64_t spacing);

 private:
  struct Pair;
  // Phases that looked at a pair.
  struct Look {
    std::uint64_t distance = 0;
    bool first_is_last = false;  // in `after`
    std::size_t before = 0, between = 0, after = 0;
  };

  Expected<std::vector<PairFates>> run_once(const std::vector<std::uint64_t>& distances, std::uint64_t spacing);
  std::uint64_t stride() const;
  std::uint64_t rounds(double between) const;
  std::vector<Pair> pairs_at(const std::vector<std::uint64_t>& distances);
  void begin();
  void add(const program::Walk& walk);
  void add_pushing(const program::Walk& walk);
  void push_in_a_row(std::uint64_t bytes);
  void push(double share);
  program::Walk loads(const Pair& pair, bool both) const;
  std::size_t look_at_the_end(Pair pair);
  std::size_t look_at(const Pair& pair, bool both);
  void add_round(std::span<const Pair> pairs, double between);
  std::optional<bool> hit(std::uint32_t latency) const;
  void count(const Look& look, std::span<const program::PhaseTrace> phases, std::vector<PairFates>& fates) const;

  Session& session_;
  const CacheFacts& cache_;
  std::uint64_t capacity_;
  Scope isolation_;
  std::uint64_t room_ = 0, places_ = 0, pushing_ = 0;  // bytes: all, those of pairs, behind them those that push
  std::uint64_t pushed_ = 0, spacing_ = in_a_row, place_ = 0;
  double late_cycles_ = 0;  // of a hit
  std::uint64_t rounds_at_once_;
  program::Program p_;
  std::vector<Look> looks_;
};

}  // namespace gputopo::evidence
