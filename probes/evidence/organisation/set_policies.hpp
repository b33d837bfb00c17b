// One full set under policies that are known: what each would lose of a sequence of its lines.
#pragma once

#include <cstdint>
#include <vector>

namespace gputopo::evidence {

enum class Policy {
  lru,
  fifo,
  tree,  ///< a bit for each node of a binary tree over the ways: the half used less recently
};

/// A set of `ways` ways, empty at first.
class PolicySet {
 public:
  PolicySet(Policy policy, std::uint32_t ways);
  /// Loads a line of the set. True where it wasn't there.
  bool load(std::uint64_t line);

 private:
  std::uint32_t victim() const;
  void use(std::uint32_t way, bool is_new);

  Policy policy_;
  std::vector<std::uint64_t> lines_;  // by way
  std::vector<std::uint64_t> ages_;   // by way: when it was used (or brought in) last
  std::vector<bool> right_is_older_;  // by node of the tree, the root at 1
  std::uint32_t ways_, leaves_;
  std::uint64_t now_ = 0;
};

}  // namespace gputopo::evidence
