#include "device/sim/wide_sets.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace gputopo::sim {
namespace {

constexpr std::uint32_t scan_limit = 24;  // ways up to which comparing every tag beats following chains
constexpr std::uint32_t word_levels =
    6;  // of a tree's nodes: node 1 is a word's root, node n has children 2n and 2n + 1
constexpr std::uint32_t word_paths = 1U << word_levels;

// By path through a word: the nodes that it touches, and those of them that it leaves to the left.
struct Paths {
  std::array<std::uint64_t, word_paths> nodes{}, left{};
};

constexpr Paths paths_through_a_word() {
  Paths p;
  for (std::uint32_t path = 0; path < word_paths; ++path)
    for (std::uint32_t node = path + word_paths; node > 1; node /= 2) {
      const std::uint64_t parent = std::uint64_t{1} << (node / 2);
      p.nodes[path] |= parent;
      if (node % 2 == 0) p.left[path] |= parent;
    }
  return p;
}

constexpr Paths paths = paths_through_a_word();

// Of the layer whose paths begin `shift` levels above the leaves.
std::uint32_t words_of_layer(std::uint32_t levels, std::uint32_t shift) {
  return levels > shift + word_levels ? 1U << (levels - shift - word_levels) : 1U;
}

}  // namespace

WideSets::WideSets(const SetIndex& index, Replacement replacement) : replacement_(replacement) {
  begin_.assign(index.sets() + 1, 0);
  for (std::uint32_t set = 0; set < index.sets(); ++set) begin_[set + 1] = index.begin(set + 1);
  const auto slots = static_cast<std::size_t>(index.lines());
  slots_.assign(slots, {});
  filled_.assign(index.sets(), 0);
  hand_.assign(index.sets(), none);
  if (replacement_ == Replacement::lru) {
    next_.assign(slots, 0);
    previous_.assign(slots, 0);
  }
  if (replacement_ == Replacement::tree_plru) {
    tree_levels_ = static_cast<std::uint32_t>(std::bit_width(index.most_ways() - 1));
    for (std::uint32_t shift = 0; shift < tree_levels_; shift += word_levels)
      tree_words_ += words_of_layer(tree_levels_, shift);
    tree_.assign(std::size_t{index.sets()} * tree_words_, 0);
  }
  if (index.most_ways() > scan_limit) {
    constexpr std::size_t chains_of_a_line = 2;  // a walk of as many times what fits meets nobody in its chains
    chains_.assign(std::bit_ceil(slots * chains_of_a_line), none);
    chain_bits_ = static_cast<std::uint32_t>(std::countr_zero(chains_.size()));
    chain_mask_ = static_cast<std::uint32_t>(chains_.size() - 1);
  }
}

void WideSets::clear() {
  std::fill(slots_.begin(), slots_.end(), Slot{});
  std::fill(filled_.begin(), filled_.end(), 0);
  std::fill(hand_.begin(), hand_.end(), none);
  std::fill(tree_.begin(), tree_.end(), 0);
  std::fill(chains_.begin(), chains_.end(), none);
}

std::uint32_t WideSets::scan(std::uint64_t key, std::uint32_t set) const {
  const std::uint32_t begin = begin_[set];
  const std::uint32_t end = begin + filled_[set];
  for (std::uint32_t slot = begin; slot < end; ++slot)
    if (slots_[slot].key == key) return slot;
  return none;
}

bool WideSets::contains(std::uint32_t set, std::uint64_t key, std::uint32_t sectors) const {
  const std::uint32_t slot = find(key, set);
  return slot != none && (slots_[slot].sectors & sectors) == sectors;
}

bool WideSets::pass(std::uint32_t set, std::uint64_t key, std::uint32_t sectors, Random& random) {
  const std::uint32_t slot = find(key, set);
  if (slot == none) {
    bring_in(key, set, sectors, random);
    return false;
  }
  const bool hit = (slots_[slot].sectors & sectors) == sectors;
  slots_[slot].sectors |= sectors;
  return hit;
}

// Into the next free slot of the set, else in the victim's place. Under LRU the line ends up as the least recent.
std::uint32_t WideSets::bring_in(std::uint64_t key, std::uint32_t set, std::uint32_t sectors, Random& random) {
  std::uint32_t slot = none;
  if (filled_[set] < (begin_[set + 1] - begin_[set])) {
    slot = begin_[set] + filled_[set]++;
    if (replacement_ == Replacement::lru) list_append(slot, set);
  } else {
    slot = victim(set, random);
    if (!chains_.empty()) unchain(slot);
  }
  slots_[slot].key = key;
  slots_[slot].sectors = sectors;
  if (!chains_.empty()) chain_in(slot);
  return slot;
}

std::uint32_t WideSets::victim(std::uint32_t set, Random& random) {
  const std::uint32_t begin = begin_[set];
  const std::uint32_t ways = (begin_[set + 1] - begin_[set]);
  switch (replacement_) {
    case Replacement::lru:
      return previous_[hand_[set]];
    case Replacement::fifo: {
      hand_[set] = hand_[set] == none || hand_[set] + 1 == ways ? 0 : hand_[set] + 1;
      return begin + hand_[set];
    }
    case Replacement::random:
      return begin + random.below(ways);
    case Replacement::tree_plru:
      return begin + tree_victim(set);
    case Replacement::not_most_recent: {
      if (ways == 1) return begin;
      const std::uint32_t slot = begin + random.below(ways - 1);
      return slot < hand_[set] ? slot : slot + 1;
    }
  }
  return begin;
}

void WideSets::list_append(std::uint32_t slot, std::uint32_t set) {
  const std::uint32_t head = hand_[set];
  if (head == none) {
    next_[slot] = previous_[slot] = slot;
    hand_[set] = slot;
    return;
  }
  const std::uint32_t tail = previous_[head];
  next_[slot] = head;
  previous_[slot] = tail;
  next_[tail] = previous_[head] = slot;
}

void WideSets::list_touch(std::uint32_t slot, std::uint32_t set) {
  const std::uint32_t head = hand_[set];
  if (slot == head) return;
  if (slot != previous_[head]) {  // the least recent becomes the most recent by turning the ring
    const std::uint32_t before = previous_[slot];
    const std::uint32_t after = next_[slot];
    next_[before] = after;
    previous_[after] = before;
    const std::uint32_t tail = previous_[head];
    next_[slot] = head;
    previous_[slot] = tail;
    next_[tail] = previous_[head] = slot;
  }
  hand_[set] = slot;
}

// A layer's only word may have fewer levels than others: then its paths take the left half above.
void WideSets::tree_touch(std::uint32_t way, std::uint32_t set) {
  std::uint64_t* layer = tree_.data() + std::size_t{set} * tree_words_;
  for (std::uint32_t shift = 0; shift < tree_levels_; shift += word_levels) {
    const std::uint32_t path = way >> shift & (word_paths - 1);
    std::uint64_t& word = layer[way >> shift >> word_levels];
    word = (word & ~paths.nodes[path]) | paths.left[path];
    layer += words_of_layer(tree_levels_, shift);
  }
}

std::uint32_t WideSets::tree_victim(std::uint32_t set) const {
  const std::uint32_t ways = (begin_[set + 1] - begin_[set]);
  const std::uint64_t* layer = tree_.data() + std::size_t{set + 1} * tree_words_;
  std::uint32_t path = 0;
  for (std::uint32_t level = tree_levels_; level > 0;) {
    const std::uint32_t in_word = (level - 1) % word_levels + 1;
    layer -= words_of_layer(tree_levels_, level - in_word);
    const std::uint64_t word = layer[path];
    std::uint32_t node = 1U << (word_levels - in_word);
    for (std::uint32_t end = level - in_word; level > end;) {
      --level;
      // Where the ways are no power of two, a half without any way in it is never chosen. Without a branch, which
      // would be mispredicted half of the time.
      const std::uint32_t has_right = ((2 * path + 1) << level) < ways ? 1 : 0;
      const std::uint32_t right = static_cast<std::uint32_t>(word >> node) & has_right;
      node = 2 * node + right;
      path = 2 * path + right;
    }
  }
  return path;
}

void WideSets::chain_in(std::uint32_t slot) {
  std::uint32_t& first = chains_[chain_of(slots_[slot].key)];
  slots_[slot].chained = first;
  first = slot;
}

void WideSets::unchain(std::uint32_t slot) {
  std::uint32_t* link = &chains_[chain_of(slots_[slot].key)];
  while (*link != slot) link = &slots_[*link].chained;
  *link = slots_[slot].chained;
}

}  // namespace gputopo::sim
