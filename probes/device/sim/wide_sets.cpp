#include "device/sim/wide_sets.hpp"

#include <algorithm>
#include <bit>

namespace gputopo::sim {
namespace {

constexpr std::uint32_t scan_limit = 24;  // ways up to which comparing every tag beats a hash table

}  // namespace

WideSets::WideSets(const SetIndex& index, Replacement replacement) : replacement_(replacement) {
  begin_.assign(index.sets() + 1, 0);
  for (std::uint32_t set = 0; set < index.sets(); ++set) begin_[set + 1] = index.begin(set + 1);
  const auto slots = static_cast<std::size_t>(index.lines());
  keys_.assign(slots, 0);
  sectors_.assign(slots, 0);
  filled_.assign(index.sets(), 0);
  hand_.assign(index.sets(), none);
  if (replacement_ == Replacement::lru) {
    next_.assign(slots, 0);
    previous_.assign(slots, 0);
  }
  if (replacement_ == Replacement::tree_plru) {
    tree_leaves_ = std::bit_ceil(index.most_ways());
    tree_.assign(std::size_t{index.sets()} * tree_leaves_, 0);
  }
  if (index.most_ways() > scan_limit) {
    const std::size_t capacity = std::bit_ceil(slots * 2 + 2);
    table_.assign(capacity, 0);
    table_shift_ = static_cast<std::uint32_t>(64 - std::countr_zero(capacity));
  }
}

void WideSets::clear() {
  std::fill(keys_.begin(), keys_.end(), 0);
  std::fill(filled_.begin(), filled_.end(), 0);
  std::fill(hand_.begin(), hand_.end(), none);
  std::fill(tree_.begin(), tree_.end(), std::uint8_t{0});
  std::fill(table_.begin(), table_.end(), 0);
}

std::uint32_t WideSets::find(std::uint64_t key, std::uint32_t set) const {
  if (table_.empty()) {
    const std::uint32_t begin = begin_[set];
    const std::uint32_t end = begin + filled_[set];
    for (std::uint32_t slot = begin; slot < end; ++slot)
      if (keys_[slot] == key) return slot;
    return none;
  }
  const auto mask = static_cast<std::uint32_t>(table_.size() - 1);
  for (std::uint32_t at = table_home(key); table_[at] != 0; at = (at + 1) & mask)
    if (keys_[table_[at] - 1] == key) return table_[at] - 1;
  return none;
}

bool WideSets::contains(std::uint32_t set, std::uint64_t key, std::uint32_t sectors) const {
  const std::uint32_t slot = find(key, set);
  return slot != none && (sectors_[slot] & sectors) == sectors;
}

std::uint32_t WideSets::fetch(std::uint32_t set, std::uint64_t key, std::uint32_t sectors, Random& random) {
  const std::uint32_t slot = find(key, set);
  if (slot != none) {
    touch(slot, set);
    const std::uint32_t added = sectors & ~sectors_[slot];
    sectors_[slot] |= sectors;
    return added;
  }
  touch(bring_in(key, set, sectors, random), set);
  return sectors;
}

bool WideSets::pass(std::uint32_t set, std::uint64_t key, std::uint32_t sectors, Random& random) {
  const std::uint32_t slot = find(key, set);
  if (slot == none) {
    bring_in(key, set, sectors, random);
    return false;
  }
  const bool hit = (sectors_[slot] & sectors) == sectors;
  sectors_[slot] |= sectors;
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
    if (!table_.empty()) table_erase(slot);
  }
  keys_[slot] = key;
  sectors_[slot] = sectors;
  if (!table_.empty()) table_insert(slot);
  return slot;
}

void WideSets::touch(std::uint32_t slot, std::uint32_t set) {
  switch (replacement_) {
    case Replacement::lru:
      list_touch(slot, set);
      break;
    case Replacement::tree_plru:
      tree_touch(slot - begin_[set], set);
      break;
    case Replacement::not_most_recent:
      hand_[set] = slot;
      break;
    case Replacement::fifo:
    case Replacement::random:
      break;
  }
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

// Node 1 is the root, node n has children 2n and 2n + 1; a flag says that the right half was used less recently.
void WideSets::tree_touch(std::uint32_t way, std::uint32_t set) {
  std::uint8_t* flags = tree_.data() + std::size_t{set} * tree_leaves_;
  for (std::uint32_t node = way + tree_leaves_; node > 1; node /= 2) flags[node / 2] = node % 2 == 0 ? 1 : 0;
}

std::uint32_t WideSets::tree_victim(std::uint32_t set) const {
  const std::uint8_t* flags = tree_.data() + std::size_t{set} * tree_leaves_;
  const std::uint32_t ways = (begin_[set + 1] - begin_[set]);
  std::uint32_t node = 1;
  std::uint32_t first = 0;
  for (std::uint32_t span = tree_leaves_ / 2; span > 0; span /= 2) {
    // Where the ways are no power of two, a half without any way in it is never chosen.
    const bool right = flags[node] != 0 && first + span < ways;
    node = 2 * node + (right ? 1 : 0);
    if (right) first += span;
  }
  return first;
}

void WideSets::table_insert(std::uint32_t slot) {
  const auto mask = static_cast<std::uint32_t>(table_.size() - 1);
  std::uint32_t at = table_home(keys_[slot]);
  while (table_[at] != 0) at = (at + 1) & mask;
  table_[at] = slot + 1;
}

// Linear probing without tombstones: later entries of the run move back into the hole (Knuth, vol. 3, 6.4, R).
void WideSets::table_erase(std::uint32_t slot) {
  const auto mask = static_cast<std::uint32_t>(table_.size() - 1);
  std::uint32_t hole = table_home(keys_[slot]);
  while (table_[hole] != slot + 1) hole = (hole + 1) & mask;
  for (std::uint32_t at = (hole + 1) & mask; table_[at] != 0; at = (at + 1) & mask) {
    const std::uint32_t home = table_home(keys_[table_[at] - 1]);
    if (((at - home) & mask) >= ((at - hole) & mask)) {
      table_[hole] = table_[at];
      hole = at;
    }
  }
  table_[hole] = 0;
}

}  // namespace gputopo::sim
