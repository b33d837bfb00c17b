// Which lines a cache loses while a footprint is walked round and round: the fine-grained pointer chase of Mei and Chu
// ("Dissecting GPU Memory Hierarchy through Microbenchmarking", 2017, stages 1 and 2), every load by itself.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "evidence/looks/findings.hpp"
#include "evidence/looks/session.hpp"

namespace gputopo::evidence {

/// Neighbouring lines of a cache's buffer, walked round and round, one load a line.
struct Circle {
  std::uint64_t first = 0;  ///< its first line, counted from the buffer's begin
  std::uint64_t lines = 0;
  friend auto operator<=>(const Circle&, const Circle&) = default;
};

/// One load: which line of the circle (from 0), and whether it wasn't there.
struct Look {
  std::uint32_t line = 0;
  bool missed = false;
};

/// What became of a circle's lines.
struct Losses {
  Circle circle;
  std::vector<std::uint32_t> looks, misses;  ///< by line
  std::uint64_t loads = 0;                   ///< recorded, those that a cache in front answered included
  std::vector<std::vector<Look>> runs;       ///< all that was recorded, in order; each run by itself
  std::uint64_t total_looks() const;
  std::uint64_t total_misses() const;
};

/// How often each line is looked at.
struct Effort {
  std::uint32_t rounds = 8;  ///< at least, after as many that aren't recorded
  /// Also of sets that other orders filled, and walked on in such an order where the path has it: a tree of bits lets
  /// go of other lines then. Code has but one order.
  bool other_orders = false;
  bool in_a_row = false;  ///< in as few runs as they can be recorded in
};

/// Walks circles of one cache. What the kernel reads for itself is gone by the time that counts.
class Circles {
 public:
  /// Both must outlive it. `isolation` as footprints of the cache need it.
  Circles(Session& session, const CacheFacts& cache, Scope isolation)
      : session_(&session), cache_(&cache), isolation_(isolation) {}

  const CacheFacts& cache() const { return *cache_; }
  Session& session() const { return *session_; }
  Scope isolation() const { return isolation_; }
  /// Lines that the path's buffer has.
  std::uint64_t room_lines() const;
  /// Positions of a walk in a line: 1, or behind another cache as many as rounds go by before they repeat.
  std::uint64_t steps_in_a_line() const;
  /// Whether lines can be walked in another order than their own: code can't.
  bool has_other_orders() const;
  /// Loads that walk() makes for one circle.
  std::uint64_t loads_of(const Circle& circle, const Effort& effort) const;

  /// What a load of a line took, less what that line's hits take where these differ.
  double own(std::uint64_t line, std::uint64_t variant, std::uint32_t latency_cycles) const;
  /// An empty program over the cache's buffer, by the SM that its lines were timed on where these differ.
  program::Program program(std::string label) const;

  /// Virtual, of the first line; 0 where that isn't known. Errors are the session's.
  Expected<std::uint64_t> address() const;

  /// In the circles' order. Errors are the session's.
  Expected<std::vector<Losses>> walk(std::span<const Circle> circles, const Effort& effort);

  /// What each look of such a walk of one circle took, as own() gives it: those that walk() counts, and those that a
  /// cache in front answered. Errors are the session's.
  Expected<std::vector<double>> times(const Circle& circle, const Effort& effort) const;

 private:
  struct Part;
  struct TimedLook;
  Expected<std::vector<Losses>> walk_once(std::span<const Circle> circles, const Effort& effort) const;
  std::vector<Part> parts_of(const Circle& circle, const Effort& effort) const;
  program::Program program_of(const Circle& circle, const Part& part) const;
  std::vector<TimedLook> counting_looks(const Circle& circle, const Part& part,
                                        const std::vector<std::uint32_t>& latencies) const;
  void add(Losses& losses, const std::vector<TimedLook>& looks) const;
  // Gives `take` what counts of each part, with its circle's number.
  Expected<void> walk_parts(std::span<const Circle> circles, const Effort& effort,
                            const std::function<void(std::size_t, const std::vector<TimedLook>&)>& take) const;

  Session* session_;
  const CacheFacts* cache_;
  Scope isolation_;
  // Behind another cache a round goes to the lines' next words: a long run of rounds is possible, of which that cache
  // answers nothing as long as it holds fewer lines. Where it does answer, to its own next lines.
  bool by_words_ = true;
};

/// The lines of the circle that were lost more often than strangers explain: absolute numbers, ascending. One circle in
/// a thousand names a line that wasn't.
std::vector<std::uint64_t> lost_lines(const Losses& losses, double false_miss);

/// The share of looks that may seem to find lines that are always lost, of which `false_hit` do by their latency.
double often_found(double false_hit);

/// Whether all of `lines` were lost each time that they came round, but for that share of all their looks.
bool always_lost(const Losses& losses, std::span<const std::uint64_t> lines, double false_hit);

/// Whether any was: by all misses together, of which fewer suffice than to tell which.
bool loses_any(const Losses& losses, double false_miss);

}  // namespace gputopo::evidence
