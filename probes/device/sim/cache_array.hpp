// One instance of a cache: tags, sectors and replacement state. No latencies, no levels.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "device/sim/model.hpp"
#include "device/sim/packed_sets.hpp"
#include "device/sim/random.hpp"
#include "device/sim/set_index.hpp"
#include "device/sim/sweep_log.hpp"
#include "device/sim/wide_sets.hpp"

namespace gputopo::sim {

/// A set-associative array of lines with sectors.
///
/// A line is identified by its number (address / line size) and a tag class: lines of different classes share sets and
/// capacity and never hit each other. Sectors of a line are bits of a mask.
class CacheArray {
 public:
  CacheArray(const Organisation& organisation, std::uint64_t lines);
  /// What such an array takes at most, bytes: known before one is made.
  static std::uint64_t most_bytes(const Organisation& organisation, std::uint64_t lines);
  CacheArray(const CacheArray&) = delete;
  CacheArray& operator=(const CacheArray&) = delete;

  /// Looks the sectors up; brings line and sectors in where they are missing. Gives those that were missing.
  std::uint32_t fetch(std::uint64_t line, std::uint32_t tag_class, std::uint32_t sectors, Random& random) {
    const std::uint64_t key = key_of(line, tag_class);
    const std::uint32_t set = index_.set_of(line);
    if (log_ && !log_->empty())
      if (const auto missing = look_into_log(set, {key, sectors})) return *missing;
    return packed_ ? packed_->fetch(set, key, sectors, random) : wide_->fetch(set, key, sectors, random);
  }
  /// fetch where nobody needs to know what was missing. False only where all were there.
  bool ask_for(std::uint64_t line, std::uint32_t tag_class, std::uint32_t sectors, Random& random) {
    if (log_ && !log_->empty() && leave_waiting(index_.set_of(line), {key_of(line, tag_class), sectors})) return true;
    return fetch(line, tag_class, sectors, random) != 0;
  }
  /// fetch. True where all were there.
  bool access(std::uint64_t line, std::uint32_t tag_class, std::uint32_t sectors, Random& random) {
    return fetch(line, tag_class, sectors, random) == 0;
  }
  /// A line that will be asked for soon: its set is on its way from memory meanwhile.
  void announce(std::uint64_t line) const {
    if (packed_) packed_->announce(index_.set_of(line));
  }
  /// Whether sweep() can be used.
  bool can_sweep() const { return log_.has_value(); }
  /// fetch for each line of a sweep. False only where all were there, and true at most once more than it should be.
  bool sweep(const Sweep& sweep);
  /// access for a load that isn't worth keeping: a line that it brings in is the next to go (under LRU), and one that
  /// is there grows no younger. True where all were there.
  bool pass(std::uint64_t line, std::uint32_t tag_class, std::uint32_t sectors, Random& random) {
    const std::uint64_t key = key_of(line, tag_class);
    const std::uint32_t set = index_.set_of(line);
    if (log_ && !log_->empty()) bring_up_to_date(set);
    return packed_ ? packed_->pass(set, key, sectors, random) : wide_->pass(set, key, sectors, random);
  }
  /// Looks the sectors up and changes nothing.
  bool contains(std::uint64_t line, std::uint32_t tag_class, std::uint32_t sectors) {
    const std::uint64_t key = key_of(line, tag_class);
    const std::uint32_t set = index_.set_of(line);
    if (log_ && !log_->empty()) bring_up_to_date(set);
    return packed_ ? packed_->contains(set, key, sectors) : wide_->contains(set, key, sectors);
  }
  /// Takes all sectors from a line. It keeps its place until another one needs that.
  void drop(std::uint64_t line, std::uint32_t tag_class) {
    const std::uint32_t set = index_.set_of(line);
    if (log_ && !log_->empty()) bring_up_to_date(set);
    packed_ ? packed_->drop(set, key_of(line, tag_class)) : wide_->drop(set, key_of(line, tag_class));
  }
  void clear();
  /// Everything that accesses change, to be given back to an array of the same organisation and size.
  struct State {
    std::optional<PackedSets> packed;
    std::optional<WideSets> wide;
  };
  State state() const { return {packed_, wide_}; }
  void restore(const State& state);
  /// Whether state() is all: nothing waits in a log.
  bool is_settled() const { return !log_ || log_->empty(); }
  const SetIndex& index() const { return index_; }

  static std::uint64_t key_of(std::uint64_t line, std::uint32_t tag_class) { return (line << 3 | tag_class) + 1; }
  static std::uint64_t line_of(std::uint64_t key) { return (key - 1) >> 3; }
  static std::uint32_t tag_class_of(std::uint64_t key) { return static_cast<std::uint32_t>((key - 1) & 7); }

 private:
  std::optional<std::uint32_t> look_into_log(std::uint32_t set, const Access& access);
  bool leave_waiting(std::uint32_t set, const Access& access);
  void bring_up_to_date(std::uint32_t set);

  SetIndex index_;
  // One of the two.
  std::optional<PackedSets> packed_;
  std::optional<WideSets> wide_;
  std::optional<SweepLog> log_;  // LRU with few ways: what the sets have yet to hear of
  std::vector<Access> waiting_;  // for one set; kept for its memory
};

inline std::uint64_t CacheArray::most_bytes(const Organisation& o, std::uint64_t lines) {
  constexpr std::uint64_t index_of_line = 4, index_of_set = 8 + SweepLog::bytes_of_set;  // SetIndex's table, begins
  const std::uint64_t sets = std::min<std::uint64_t>(o.set_ways.empty() ? o.sets : o.set_ways.size(), lines);
  const std::uint64_t even = (lines + sets - 1) / sets;
  const std::uint64_t ways =
      o.set_ways.empty() ? even + o.consecutive_lines - 1 : *std::max_element(o.set_ways.begin(), o.set_ways.end());
  const std::uint64_t index = lines * index_of_line + sets * index_of_set;
  return index + (ways > PackedSets::way_limit ? WideSets::most_bytes(sets, lines)
                                               : PackedSets::bytes(sets, static_cast<std::uint32_t>(ways)));
}

}  // namespace gputopo::sim
