// Which line a full set lets go of, by sequences of a line more than it has ways: what it loses of each, beside what
// policies would.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "evidence/organisation/set_policies.hpp"
#include "topology/evidence.hpp"
#include "topology/statement.hpp"

namespace gputopo::evidence {

inline constexpr std::array<std::pair<Policy, std::string_view>, 3> known_policies{
    {{Policy::lru, "lru"}, {Policy::fifo, "fifo"}, {Policy::tree, "tree"}}};

/// Places among a set's lines: round and round; then, for each two of the policies, a round drawn at random, repeated,
/// of which they lose numbers that differ most.
std::vector<std::vector<std::uint32_t>> telling_sequences(std::uint32_t lines);

/// Of one sequence, from some load on: loads that missed, and those that would have.
struct SequenceMisses {
  std::uint64_t loads = 0, found = 0;
  std::array<std::uint64_t, known_policies.size()> predicted{};
  std::array<std::uint64_t, known_policies.size()> wrong{};  ///< loads that a policy is known to get wrong
};

/// What policies would lose of a sequence on a set of `ways` ways, full of others before it, from load number `from`
/// on. `found` is how many missed, `least` in the look in which the fewest did: a policy that goes by order loses as
/// many each time, and others only add.
SequenceMisses misses_by_count(std::uint32_t ways, std::span<const std::uint32_t> sequence, std::size_t from,
                               std::uint64_t found, std::uint64_t least);

/// The same where it is known of every load whether it missed.
SequenceMisses misses_by_load(std::uint32_t ways, std::span<const std::uint32_t> sequence, std::size_t from,
                              const std::vector<bool>& missed);

/// The one policy that loses the same of each sequence, in at least two sets (one where there is but one), while no
/// other policy does in any. A set that none explains says nothing: lines of others may come into it.
class PolicyVote {
 public:
  explicit PolicyVote(std::size_t lines) : lines_(lines) {}
  /// One set's losses, a sequence each, in the order of telling_sequences(). True where one policy alone explains them.
  bool add(std::vector<SequenceMisses> set);
  Statement statement(std::string_view method, std::uint64_t samples) const;
  DecidingCurve curve(std::string_view memory) const;

 private:
  std::size_t lines_, sets_ = 0;
  std::vector<SequenceMisses> shown_;  // of the first set that was explained, or the first one
  std::array<std::size_t, known_policies.size()> explained_{};
};

/// Of looks at one sequence the one that some policy explains best.
SequenceMisses best_explained(std::span<const SequenceMisses> looks);

}  // namespace gputopo::evidence
