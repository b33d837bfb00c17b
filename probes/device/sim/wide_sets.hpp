// The sets of a cache of many ways: hashed chains find a line, a linked list the least recent one.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "device/sim/model.hpp"
#include "device/sim/random.hpp"
#include "device/sim/set_index.hpp"

namespace gputopo::sim {

/// Tags, sectors and replacement state of sets of any number of ways. Keys are never 0.
class WideSets {
 public:
  WideSets(const SetIndex& index, Replacement replacement);
  /// What so many sets of so many lines in all take at most: keys, sectors, both links, up to four chains a line and
  /// their links.
  static std::uint64_t most_bytes(std::uint64_t sets, std::uint64_t lines) {
    return sets * 12 + lines * (8 + 4 + 8 + 16 + 4);
  }

  /// CacheArray::fetch, pass and contains, in the set that the key belongs to.
  std::uint32_t fetch(std::uint32_t set, std::uint64_t key, std::uint32_t sectors, Random& random) {
    const std::uint32_t slot = find(key, set);
    if (slot == none) {
      touch(bring_in(key, set, sectors, random), set);
      return sectors;
    }
    touch(slot, set);
    const std::uint32_t added = sectors & ~slots_[slot].sectors;
    slots_[slot].sectors |= sectors;
    return added;
  }
  bool pass(std::uint32_t set, std::uint64_t key, std::uint32_t sectors, Random& random);
  bool contains(std::uint32_t set, std::uint64_t key, std::uint32_t sectors) const;
  /// CacheArray::drop.
  void drop(std::uint32_t set, std::uint64_t key) {
    if (const std::uint32_t slot = find(key, set); slot != none) slots_[slot].sectors = 0;
  }
  void clear();

 private:
  static constexpr std::uint32_t none = 0xffffffffU;

  // A line, in one piece of memory: what a simulated load costs is reading it.
  struct Slot {
    std::uint64_t key;  // 0: empty
    std::uint32_t sectors;
    std::uint32_t chained;  // sets with many ways: the next slot of its chain
  };

  std::uint32_t find(std::uint64_t key, std::uint32_t set) const {
    if (chains_.empty()) return scan(key, set);
    std::uint32_t slot = chains_[chain_of(key)];
    while (slot != none && slots_[slot].key != key) slot = slots_[slot].chained;
    return slot;
  }
  std::uint32_t scan(std::uint64_t key, std::uint32_t set) const;
  std::uint32_t victim(std::uint32_t set, Random& random);
  void touch(std::uint32_t slot, std::uint32_t set) {
    if (replacement_ == Replacement::not_most_recent)
      hand_[set] = slot;
    else if (replacement_ == Replacement::lru)
      list_touch(slot, set);
    else if (replacement_ == Replacement::tree_plru)
      tree_touch(slot - begin_[set], set);
  }
  std::uint32_t bring_in(std::uint64_t key, std::uint32_t set, std::uint32_t sectors, Random& random);

  void list_touch(std::uint32_t slot, std::uint32_t set);
  void list_append(std::uint32_t slot, std::uint32_t set);
  void tree_touch(std::uint32_t way, std::uint32_t set);
  std::uint32_t tree_victim(std::uint32_t set) const;

  // Neighbours come to different chains; lines at any larger distance to chains that look random.
  std::uint32_t chain_of(std::uint64_t key) const {
    const std::uint64_t line = std::rotr(key, 3);  // behind its tag class
    return static_cast<std::uint32_t>(line + ((line >> chain_bits_) * 0x9e3779b97f4a7c15ULL >> 32)) & chain_mask_;
  }
  void chain_in(std::uint32_t slot);
  void unchain(std::uint32_t slot);

  std::vector<std::uint32_t> begin_;  // by set: its first slot
  Replacement replacement_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> filled_;  // by set: slots in use; they fill in order
  std::vector<std::uint32_t> hand_;    // by set: LRU's most recent slot, FIFO's next way, not-most-recent's last slot
  std::vector<std::uint32_t> next_, previous_;  // LRU: each set's slots in a ring, from most to least recent
  // Tree pseudo-LRU: a bit for each inner node, set where its right half was used less recently. Six levels of nodes
  // make a word, so that a way's path through thousands of nodes is two or three words; a set's words lie layer by
  // layer, from the leaves up.
  std::vector<std::uint64_t> tree_;
  std::uint32_t tree_levels_ = 0;
  std::uint32_t tree_words_ = 0;       // of a set
  std::vector<std::uint32_t> chains_;  // sets with many ways: each chain's first slot
  std::uint32_t chain_bits_ = 0, chain_mask_ = 0;
};

}  // namespace gputopo::sim
