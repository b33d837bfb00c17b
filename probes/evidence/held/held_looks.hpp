// How a cache's lines are looked for: what of a footprint is looked for together, in which order, and what each look
// tells (held.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "evidence/held/held.hpp"
#include "evidence/inference/histogram.hpp"
#include "evidence/looks/findings.hpp"
#include "evidence/looks/session.hpp"

namespace gputopo::evidence::held {

/// Rounds of a footprint before lines of it are looked for. Lines replaced at random: after four rounds of twice the
/// capacity one line in a thousand is older than they are. Two more, before the others or of them, come to lines in
/// another order: of rounds that are all alike a tree of bits may keep for good what none of them asks for.
inline constexpr std::uint32_t walked_rounds = 4;

inline constexpr std::uint64_t most_loads =
    12'000'000;  ///< of one count: seconds of a simulator, milliseconds of a GPU

/// What is looked for together, in a program of its own.
struct Together {
  std::uint64_t first = 0, lines = 0, apart = 1;
  std::uint64_t newer = 0;  ///< lines walked after it
  bool oldest_first = false;
};

struct Plan {
  std::uint64_t lines = 0;    ///< of the footprint
  double capacity_lines = 0;  ///< within a fifth
  std::uint64_t at_once = 1;
  std::uint64_t apart = 1;  ///< those looked for together; 1: neighbours
  /// Looked for in one go, the oldest first, so that those in the cache in front are pushed out of that by older ones.
  std::uint64_t newest = 0;
  bool is_downwards = false;  ///< as code is walked
  std::uint32_t looks = held_fewest_looks;
  bool in_any_order = false;  ///< else each look comes after the one at the same distance

  std::uint64_t older() const { return lines - newest; }
  std::uint64_t programs_of_older() const { return apart > 1 ? apart : (older() + at_once - 1) / at_once; }
  std::uint64_t programs() const { return programs_of_older() + (newest == 0 ? 0 : 1); }
  std::uint64_t loads() const { return programs() * walked_rounds * lines * looks; }
  /// The last one is of the newest lines.
  Together stretch(std::uint64_t i) const;
};

/// `factor` times the capacity, looked for so often, or less often where that takes too long.
Plan plan_of(std::uint64_t capacity_lines, double factor, std::uint32_t looks);

/// Neighbours may fall into the same few ways, where one that is missing pushes the next one out sooner than any: lines
/// a prime apart fall into sets of their own, whatever their number.
void look_all_over(Plan& plan);

/// At each line by itself, so that none pushes out another one, if there is time; else all over.
void look_singly(Plan& plan);

/// The newest lines in one go, past the cache in front, where that holds fewer than half of what this one does: with
/// more of them what is missing would push out what is looked for later.
void look_past_front(Plan& plan, const CacheFacts& cache);

/// Walks the footprint, then loads what is looked for of it, each once.
program::Program look_program(Session& session, const CacheFacts& cache, Scope isolation, const Plan& plan,
                              const Together& stretch);

/// The stretch of each look.
std::vector<std::uint64_t> looks_of(const Plan& plan);

/// Lines found, and how many of these the cache in front answered: one of the newest, as many as that one holds, may or
/// may not be in this one as well, unless older ones were looked for before it; of the others its answer says nothing,
/// and they are as their neighbours that were looked for together, or as at other times.
struct Looked {
  std::optional<double> held;
  double in_front = 0;
  double off = 0;  ///< by which more or fewer may have been held before these were looked for
};

Looked look_at(const Histogram& timed, const CacheFacts& cache, const Together& stretch, double capacity_lines);

/// Where nothing was told at some times, as at the others; where never, all may be in front alone, as many as are
/// added to `in_front`.
std::vector<double> held_each_time(const std::vector<std::optional<double>>& looks, std::uint64_t lines,
                                   double& in_front);

/// By how many more lines a look may have found than it did at those times: where nothing was told at some and others
/// found lines missing. What looked as though the cache in front answered it may have been a hit from nearby.
double hidden_in_front(const std::vector<std::optional<double>>& looks, std::uint64_t lines);

}  // namespace gputopo::evidence::held
