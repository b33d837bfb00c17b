// One instance of a cache: tags, sectors and replacement state. No latencies, no levels.
#pragma once

#include <cstdint>
#include <optional>

#include "device/sim/model.hpp"
#include "device/sim/packed_sets.hpp"
#include "device/sim/random.hpp"
#include "device/sim/set_index.hpp"
#include "device/sim/wide_sets.hpp"

namespace gputopo::sim {

/// A set-associative array of lines with sectors.
///
/// A line is identified by its number (address / line size) and a tag class: lines of different classes share sets and
/// capacity and never hit each other. Sectors of a line are bits of a mask.
class CacheArray {
 public:
  CacheArray(const Organisation& organisation, std::uint64_t lines)
      : index_(organisation, lines), is_lru_(organisation.replacement == Replacement::lru) {
    if (index_.most_ways() <= PackedSets::way_limit)
      packed_.emplace(index_, organisation.replacement);
    else
      wide_.emplace(index_, organisation.replacement);
  }

  /// Looks the sectors up; brings line and sectors in where they are missing. True where all were there.
  bool access(std::uint64_t line, std::uint32_t tag_class, std::uint32_t sectors, Random& random) {
    const std::uint64_t key = key_of(line, tag_class);
    const std::uint32_t set = index_.set_of(line);
    return packed_ ? packed_->access(set, key, sectors, random) : wide_->access(set, key, sectors, random);
  }
  /// Whether sweep() can be used.
  bool can_sweep() const { return packed_ && is_lru_ && index_.is_rotation(); }
  /// access for the same sectors of all lines from `first` to below `end`, in order. 0 where all were there.
  std::uint64_t sweep(std::uint64_t first, std::uint64_t end, std::uint32_t tag_class, std::uint32_t sectors,
                      Random& random);
  /// access for a load that isn't worth keeping: a line that it brings in is the next to go (under LRU), and one that
  /// is there grows no younger. True where all were there.
  bool pass(std::uint64_t line, std::uint32_t tag_class, std::uint32_t sectors, Random& random) {
    const std::uint64_t key = key_of(line, tag_class);
    const std::uint32_t set = index_.set_of(line);
    return packed_ ? packed_->pass(set, key, sectors, random) : wide_->pass(set, key, sectors, random);
  }
  /// Looks the sectors up and changes nothing.
  bool contains(std::uint64_t line, std::uint32_t tag_class, std::uint32_t sectors) const {
    const std::uint64_t key = key_of(line, tag_class);
    const std::uint32_t set = index_.set_of(line);
    return packed_ ? packed_->contains(set, key, sectors) : wide_->contains(set, key, sectors);
  }
  void clear() { packed_ ? packed_->clear() : wide_->clear(); }
  const SetIndex& index() const { return index_; }

 private:
  static std::uint64_t key_of(std::uint64_t line, std::uint32_t tag_class) { return (line << 3 | tag_class) + 1; }

  SetIndex index_;
  bool is_lru_;
  // One of the two.
  std::optional<PackedSets> packed_;
  std::optional<WideSets> wide_;
};

}  // namespace gputopo::sim
