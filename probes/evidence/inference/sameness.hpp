// Are these two the same? One likelihood for sharing, scopes, instances and lines: what was counted is held against a
// run where the answer is yes by construction and one where it is no.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "evidence/inference/counts.hpp"

namespace gputopo::evidence {

/// Loads and how many of them missed.
struct Tally {
  double loads = 0;
  double misses = 0;
  Tally& operator+=(const Tally& other) {
    loads += other.loads;
    misses += other.misses;
    return *this;
  }
  double share() const { return loads == 0 ? 0 : misses / loads; }
};

struct Sameness {
  double probability = 0.5;  ///< of 'the same', both answers equally likely beforehand
  bool decided = false;      ///< either answer explains what was counted and leaves the other below 1 %
  bool is_same() const { return decided && probability > 0.5; }
  bool is_apart() const { return decided && probability < 0.5; }
  double sure() const { return probability > 0.5 ? probability : 1 - probability; }  ///< of the likelier answer
};

/// By which walks differ at least, of places and of replacement: a share of misses.
inline constexpr double least_spread = 0.05;

/// `seen` against `if_same` and `if_apart`, which were counted alike. Every walk of the three varies around its own
/// probability by as much as the controls' (at least `spread`, a share of misses: places, replacement), so that many
/// loads of one walk don't pretend to a certainty that a second walk wouldn't confirm.
Sameness sameness(const Tally& seen, const Tally& if_same, const Tally& if_apart, double spread = least_spread);

/// The log-probability of `seen` where any share up to `most`, or from `least` on, is as likely; both in (0, 1).
double log_of_share_up_to(const Tally& seen, double most);
double log_of_share_from(const Tally& seen, double least);

/// How likely it is that `seen` has the control's share, neither less nor more: if not it has that of `if_apart` or,
/// more rarely, any.
double probability_of_the_same_share(const Tally& seen, const Tally& control, const Tally& if_apart);

/// The same program run several times.
using Replicates = std::vector<Tally>;

/// All runs of each together, which vary by what the runs differ by where that is more: a cache may be in one of
/// several states, and lose another share of lines in each.
Sameness sameness(const Replicates& seen, const Replicates& if_same, const Replicates& if_apart);

/// "same", "apart" or "undecided".
std::string_view verdict_of(const Sameness& s);

}  // namespace gputopo::evidence
