// The sets of a cache of few ways, each in one piece of memory: what a simulated load costs is reading it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/sim/model.hpp"
#include "device/sim/random.hpp"
#include "device/sim/recency.hpp"
#include "device/sim/set_index.hpp"

namespace gputopo::sim {

/// One request to a set.
struct Access {
  std::uint64_t key;
  std::uint32_t sectors;
};

/// Tags, sectors and replacement state of sets of at most 16 ways. Keys are never 0.
class PackedSets {
 public:
  static constexpr std::uint32_t way_limit = 16;

  PackedSets(const SetIndex& index, Replacement replacement);
  /// What so many sets of at most so many ways take.
  static std::uint64_t bytes(std::uint64_t sets, std::uint32_t most_ways) {
    return sets * words_of_set(most_ways) * sizeof(std::uint64_t);
  }

  /// CacheArray::fetch and pass, in the set that the key belongs to.
  std::uint32_t fetch(std::uint32_t set, std::uint64_t key, std::uint32_t sectors, Random& random) {
    std::uint64_t* s = words_.data() + set * stride_;
    std::uint32_t way = find(s, key);
    if (way == none) {
      touch(s, bring_in(s, key, sectors, random));
      return sectors;
    }
    touch(s, way);
    return add_sectors(s, way, sectors);
  }
  bool pass(std::uint32_t set, std::uint64_t key, std::uint32_t sectors, Random& random) {
    std::uint64_t* s = words_.data() + set * stride_;
    const std::uint32_t way = find(s, key);
    if (way != none) return add_sectors(s, way, sectors) == 0;
    bring_in(s, key, sectors, random);
    return false;
  }
  bool contains(std::uint32_t set, std::uint64_t key, std::uint32_t sectors) const {
    const std::uint64_t* s = words_.data() + set * stride_;
    const std::uint32_t way = find(s, key);
    return way != none && (sectors_of(s, way) & sectors) == sectors;
  }
  /// CacheArray::announce.
  void announce(std::uint32_t set) const {
    constexpr std::size_t words_of_piece = 64 / sizeof(std::uint64_t);  // that processors read at once
    for (std::size_t at = 0; at < stride_; at += words_of_piece) __builtin_prefetch(&words_[set * stride_ + at], 1);
  }
  /// CacheArray::drop.
  void drop(std::uint32_t set, std::uint64_t key) {
    std::uint64_t* s = words_.data() + set * stride_;
    if (const std::uint32_t way = find(s, key); way != none)
      s[keys + most_ways_ + way / 2] &= ~(std::uint64_t{0xffffffffU} << (way % 2 * 32));
  }
  /// Under LRU: the lines of a set from the most to the least recent one.
  std::uint32_t filled(std::uint32_t set) const { return filled(words_.data() + set * stride_); }
  /// Under LRU: gives a set as many lines as it has ways, and nothing else, from the most to the least recent one.
  void fill(std::uint32_t set, std::span<const Access> lines) {
    std::uint64_t* s = words_.data() + set * stride_;
    s[order] = ways_in_order;
    s[state] = (s[state] & ~std::uint64_t{0xff}) | lines.size();
    for (std::size_t way = 0; way < lines.size(); ++way) s[keys + way] = lines[way].key;
    for (std::size_t way = 0; way < lines.size(); way += 2)
      s[keys + most_ways_ + way / 2] =
          lines[way].sectors | (way + 1 < lines.size() ? std::uint64_t{lines[way + 1].sectors} << 32 : 0);
  }
  Access by_age(std::uint32_t set, std::uint32_t age) const {
    const std::uint64_t* s = words_.data() + set * stride_;
    const std::uint32_t way = way_at(s[order], age);
    return {s[keys + way], sectors_of(s, way)};
  }
  void clear();

 private:
  static constexpr std::uint32_t none = 0xffffffffU;
  // A set's words: `order`, `state`, then a key for each way, then two ways' sectors a word.
  // order: under LRU the ways from most to least recent, four bits each (free ways last, in their order); under
  // tree pseudo-LRU bit n says that the right half below node n was used less recently.
  static constexpr std::size_t order = 0, state = 1, keys = 2;
  static constexpr std::size_t words_of_set(std::uint32_t ways) { return keys + ways + (ways + 1) / 2; }

  // state: ways in use (they fill in order), ways, and FIFO's next or not-most-recent's last way plus 1.
  static std::uint32_t filled(const std::uint64_t* s) { return static_cast<std::uint32_t>(s[state] & 0xff); }
  static std::uint32_t ways(const std::uint64_t* s) { return static_cast<std::uint32_t>(s[state] >> 8 & 0xff); }
  static std::uint32_t hand(const std::uint64_t* s) { return static_cast<std::uint32_t>(s[state] >> 16); }
  static void set_hand(std::uint64_t* s, std::uint64_t hand) { s[state] = (s[state] & 0xffff) | hand << 16; }

  // Compares every key, without a branch that would be mispredicted half of the time.
  std::uint32_t find(const std::uint64_t* s, std::uint64_t key) const {
    std::uint32_t way = none;
    for (std::uint32_t w = 0; w < most_ways_; ++w) way = s[keys + w] == key ? w : way;
    return way;
  }
  std::uint32_t sectors_of(const std::uint64_t* s, std::uint32_t way) const {
    return static_cast<std::uint32_t>(s[keys + most_ways_ + way / 2] >> (way % 2 * 32));
  }
  // Gives those that are new.
  std::uint32_t add_sectors(std::uint64_t* s, std::uint32_t way, std::uint32_t sectors) const {
    const std::uint32_t added = sectors & ~sectors_of(s, way);
    s[keys + most_ways_ + way / 2] |= std::uint64_t{sectors} << (way % 2 * 32);
    return added;
  }
  std::uint32_t bring_in(std::uint64_t* s, std::uint64_t key, std::uint32_t sectors, Random& random) {
    std::uint32_t way = filled(s);
    if (way < ways(s))
      ++s[state];
    else
      way = victim(s, random);
    s[keys + way] = key;
    std::uint64_t& pair = s[keys + most_ways_ + way / 2];
    const std::uint32_t shift = way % 2 * 32;
    pair = (pair & ~(std::uint64_t{0xffffffffU} << shift)) | std::uint64_t{sectors} << shift;
    return way;
  }
  void touch(std::uint64_t* s, std::uint32_t way) const {
    if (replacement_ == Replacement::lru)
      s[order] = with_in_front(s[order], way);
    else if (replacement_ == Replacement::tree_plru)
      tree_touch(s, way);
    else if (replacement_ == Replacement::not_most_recent)
      set_hand(s, way + 1);
  }

  void tree_touch(std::uint64_t* s, std::uint32_t way) const {
    for (std::uint32_t node = way + leaves_; node > 1; node /= 2) {
      const std::uint64_t flag = std::uint64_t{1} << (node / 2);
      s[order] = node % 2 == 0 ? s[order] | flag : s[order] & ~flag;
    }
  }
  std::uint32_t victim(std::uint64_t* s, Random& random) const;
  std::uint32_t tree_victim(const std::uint64_t* s) const;

  Replacement replacement_;
  std::uint32_t most_ways_;
  std::uint32_t leaves_;
  std::size_t stride_;
  std::vector<std::uint64_t> words_;
};

}  // namespace gputopo::sim
