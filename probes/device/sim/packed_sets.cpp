#include "device/sim/packed_sets.hpp"

#include <bit>

namespace gputopo::sim {

PackedSets::PackedSets(const SetIndex& index, Replacement replacement)
    : replacement_(replacement),
      most_ways_(index.most_ways()),
      leaves_(std::bit_ceil(index.most_ways())),
      stride_(words_of_set(most_ways_)),
      words_(stride_ * index.sets(), 0) {
  for (std::uint32_t set = 0; set < index.sets(); ++set) words_[set * stride_ + state] = index.ways(set) << 8;
  clear();
}

void PackedSets::clear() {
  for (std::size_t s = 0; s < words_.size(); s += stride_) {
    words_[s + order] = replacement_ == Replacement::lru ? ways_in_order : 0;
    words_[s + state] &= 0xff00;
    for (std::size_t w = 0; w < most_ways_; ++w) words_[s + keys + w] = 0;
  }
}

std::uint32_t PackedSets::victim(std::uint64_t* s, Random& random) const {
  const std::uint32_t count = ways(s);
  switch (replacement_) {
    case Replacement::lru:
      return way_at(s[order], count - 1);
    case Replacement::fifo: {
      const std::uint32_t way = hand(s);
      set_hand(s, way + 1 == count ? 0 : way + 1);
      return way;
    }
    case Replacement::random:
      return random.below(count);
    case Replacement::tree_plru:
      return tree_victim(s);
    case Replacement::not_most_recent: {
      if (count == 1) return 0;
      const std::uint32_t way = random.below(count - 1);
      return hand(s) == 0 || way + 1 < hand(s) ? way : way + 1;
    }
  }
  return 0;
}

// Node 1 is the root, node n has children 2n and 2n + 1.
std::uint32_t PackedSets::tree_victim(const std::uint64_t* s) const {
  const std::uint32_t count = ways(s);
  std::uint32_t node = 1;
  std::uint32_t first = 0;
  for (std::uint32_t span = leaves_ / 2; span > 0; span /= 2) {
    // Where the ways are no power of two, a half without any way in it is never chosen.
    const bool right = (s[order] >> node & 1) != 0 && first + span < count;
    node = 2 * node + (right ? 1 : 0);
    if (right) first += span;
  }
  return first;
}

}  // namespace gputopo::sim
