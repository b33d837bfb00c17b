// Which set of a cache a line belongs to.
#pragma once

#include <cstdint>
#include <vector>

#include "device/sim/model.hpp"
#include "device/sim/random.hpp"

namespace gputopo::sim {

/// Division by a number known beforehand: a multiplication and at most two corrections.
class Divisor {
 public:
  explicit Divisor(std::uint64_t divisor = 1) : divisor_(divisor), reciprocal_(~std::uint64_t{0} / divisor) {}

  struct Result {
    std::uint64_t quotient, remainder;
  };
  Result divide(std::uint64_t n) const {
    Result r{};
    r.quotient = static_cast<std::uint64_t>(static_cast<Wide>(n) * reciprocal_ >> 64);
    r.remainder = n - r.quotient * divisor_;
    while (r.remainder >= divisor_) {
      r.remainder -= divisor_;
      ++r.quotient;
    }
    return r;
  }
  std::uint64_t value() const { return divisor_; }

 private:
  __extension__ using Wide = unsigned __int128;
  std::uint64_t divisor_;
  std::uint64_t reciprocal_;
};

/// The index function of one cache array, and the sizes of its sets.
///
/// Whatever the function, any run of `lines` lines that starts at a multiple of `lines` fills every set exactly: the
/// usable size is also the largest contiguous footprint that fits. Where the lines don't divide evenly over the sets
/// (part of the array is reserved or carved out), the sets' sizes differ by at most `consecutive_lines`, and the
/// pattern repeats every `lines` lines.
class SetIndex {
 public:
  /// `lines` >= 1 is what the array holds; more sets than lines are cut down to the lines.
  SetIndex(const Organisation& organisation, std::uint64_t lines);

  std::uint32_t set_of(std::uint64_t line) const {
    if (plain_) return static_cast<std::uint32_t>((line >> group_shift_) & set_mask_);
    if (tabled_) return table_[place_of(line)];
    return general_set_of(line);
  }
  /// Whether a set's lines can be listed: each row of row_lines() lines gives every set together() neighbours.
  bool lists_lines() const { return even_; }
  std::uint64_t row_lines() const { return std::uint64_t{sets_} * group_; }
  std::uint32_t together() const { return group_; }
  /// By how much a row is turned against the sets.
  std::uint32_t turn(std::uint64_t row) const;
  /// The first line of a set in a row that is turned by `turn`.
  std::uint64_t first_line(std::uint64_t row, std::uint32_t turn, std::uint32_t set) const {
    const std::uint32_t digit = is_xor() ? set ^ turn : set >= turn ? set - turn : set + sets_ - turn;
    return (row * sets_ + digit) * group_;
  }
  std::uint32_t sets() const { return sets_; }
  std::uint64_t lines() const { return lines_; }
  /// First slot of a set; a set's slots are [begin(s), begin(s + 1)).
  std::uint32_t begin(std::uint32_t set) const { return begin_[set]; }
  std::uint32_t ways(std::uint32_t set) const { return begin_[set + 1] - begin_[set]; }
  std::uint32_t most_ways() const { return most_ways_; }

 private:
  std::uint32_t general_set_of(std::uint64_t line) const;
  // In its block of `lines` lines.
  std::uint64_t place_of(std::uint64_t line) const {
    if (line - latest_block_first_ >= lines_) {
      const auto [block, place] = by_lines_.divide(line);
      latest_block_first_ = line - place;
      latest_block_ = block;
    }
    return line - latest_block_first_;
  }
  std::uint32_t permuted(std::uint64_t unit) const;
  bool is_xor() const { return kind_ == IndexKind::xor_fold && power_; }
  std::uint32_t remainder_set_of(std::uint64_t line) const;
  void tabulate();
  void count_ways();

  std::uint64_t lines_;
  std::uint32_t sets_;
  std::uint32_t group_;
  Divisor by_sets_, by_group_, by_lines_;
  IndexKind kind_;
  std::uint32_t folds_;
  std::uint64_t full_rows_ = 0;  // of `sets_` units, in each `lines_` lines
  bool even_ = true;             // every set has the same number of ways, a multiple of group_
  bool plain_ = false;           // modulo with powers of two: a shift and a mask
  bool tabled_ = false;          // modulo by the table
  bool power_ = false;           // of two: the number of sets
  std::uint32_t group_shift_ = 0;
  std::uint64_t set_mask_ = 0;
  static constexpr std::uint64_t nowhere = std::uint64_t{1} << 63;  // beyond all lines, and they beyond it
  // Of the line asked for last: its row's first unit and turn, its block of `lines` lines. Neighbours share them.
  mutable std::uint64_t latest_row_first_ = nowhere;
  mutable std::uint32_t latest_turn_ = 0;
  mutable std::uint64_t latest_block_first_ = nowhere, latest_block_ = 0;
  std::uint32_t most_ways_ = 0;
  std::vector<std::uint32_t> begin_;
  std::vector<std::uint32_t> table_;  // unequal sets, where it was made: set of each of `lines` consecutive lines
};

}  // namespace gputopo::sim
