// What lines of a cache with too many of them to time each lose while they are walked round and round: circles of
// neighbours, of which a part is looked at, and lines from anywhere, one by one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "evidence/inference/levels.hpp"
#include "evidence/looks/session.hpp"

namespace gputopo::evidence {

/// The cache as one SM finds it, in lines of the flush slot.
struct EvictedCache {
  std::uint64_t line_bytes = 0;
  std::uint64_t capacity_lines = 0;  ///< about as many as it holds for that SM
  double threshold_cycles = 0;       ///< as timed: what takes longer was pushed out
  double false_miss = 0;             ///< share of hits that takes longer all the same
  std::uint32_t sm = 0;
};

/// How long lines are walked: rounds of each program.
struct Rounds {
  std::uint32_t warm = 0, recorded = 0, programs = 1;
  std::uint32_t looks() const { return recorded * programs; }
};

/// Sets that go by order (LRU, first in first out, trees of bits) have settled after a round and lose every line in
/// each one. Short programs: others may use the GPU.
inline constexpr Rounds few_rounds{2, 1, 3};
/// Sets that are drawn from let go of what they held before by chance: of 32 ways the last of it in 256 rounds but once
/// in 3,000 times. Of a line more than they have ways they lose two a round, each of 33 lines once in 16.
inline constexpr Rounds many_rounds{256, 256, 1};
/// The same where all lines' misses are counted together, and one circle after the other finds most of it settled.
inline constexpr Rounds some_rounds{128, 16, 1};

/// Which lines were missed, a round after the other.
using Missed = std::vector<std::vector<bool>>;

/// How often some lines were missed that one round loads.
struct Evicted {
  std::vector<std::uint32_t> misses;  ///< of each
  std::uint32_t rounds = 0;
  std::uint64_t least = 0;  ///< misses in the round that had fewest
  double false_miss = 0;
  /// Of `count` lines of each round, those behind the first `from`.
  static Evicted of(const Missed& missed, std::size_t from, std::size_t count, double false_miss);
  /// Misses each time that all of them were looked at.
  double in_a_round() const;
  /// The same, more than strangers explain; 0 where these may explain all, and where a round had none: a line more than
  /// a set has ways costs a miss in each one, whatever it replaces.
  double lost_in_a_round() const;
  /// Lines missed in every round, more than strangers explain; 0 where these may explain all. An overfull set that goes
  /// by order loses all of its lines each time, whereas what the kernel itself loads comes to other sets each time.
  double always_lost() const;
  /// The places of those that strangers explain so seldom that they explain `few` of them;
  /// 0: of those that were missed in every round.
  std::vector<std::size_t> lost(double few) const;
};

class Evictions {
 public:
  /// The session must outlive it.
  Evictions(Session& session, const EvictedCache& cache, const Rounds& rounds)
      : session_(&session), cache_(cache), rounds_(rounds) {}

  const EvictedCache& cache() const { return cache_; }
  const Rounds& rounds() const { return rounds_; }
  std::uint64_t samples() const { return samples_; }
  /// Loads of all programs so far, those that aren't recorded included.
  std::uint64_t loads() const { return loads_; }
  /// Lines of the memory that all of it walks: more than it holds, or less where there is no more.
  std::uint64_t room_lines() const;

  /// Some of `lines` from the first one on, walked round and round: about a thousand all over them, and as many at
  /// their end. Errors of all of these are the session's.
  struct Sample {
    Evicted spread, last;
  };
  Expected<Sample> sample_of(std::uint64_t first, std::uint64_t lines, const Rounds& rounds);
  /// All of `lines` from the first one on.
  Expected<Evicted> of_circle(std::uint64_t first, std::uint64_t lines);
  /// Lines by themselves, each list in its order.
  Expected<std::vector<Evicted>> of_lists(std::span<const std::vector<std::uint64_t>> lists);
  /// `count` lines `apart` from each other, from each of the first ones on.
  Expected<std::vector<Evicted>> of_steps(std::span<const std::uint64_t> firsts, std::uint64_t apart,
                                          std::uint64_t count);
  /// A look after the other, of sets full of other lines before: which loads of the second half of a sequence of places
  /// among `lines` were missed.
  Expected<std::vector<std::vector<bool>>> of_sequence(std::span<const std::uint64_t> lines,
                                                       std::span<const std::uint32_t> sequence, std::size_t looks);
  /// Walks other lines, every sector of them: whoever looks at the cache next finds nothing of these lines.
  Expected<void> push_everything_out(std::uint64_t sector_bytes);

 private:
  program::Program program() const;
  program::Walk walk(std::uint64_t first, std::uint64_t lines, std::uint32_t laps) const;
  program::Walk others_behind(std::uint64_t line, std::uint64_t sector_bytes) const;
  struct Part {
    std::uint64_t from = 0, to = 0;
  };
  program::Program circle(std::uint64_t first, std::uint64_t end, std::span<const Part> looks,
                          const Rounds& rounds) const;
  /// What each program says, of so many places in a round.
  Expected<std::vector<Missed>> run(const program::Batch& programs, std::span<const std::size_t> places,
                                    const Rounds& rounds);
  Expected<std::vector<Evicted>> all_of(const program::Batch& programs, std::span<const std::size_t> places);

  Session* session_;
  EvictedCache cache_;
  Rounds rounds_;
  std::uint64_t samples_ = 0, loads_ = 0;
};

}  // namespace gputopo::evidence
