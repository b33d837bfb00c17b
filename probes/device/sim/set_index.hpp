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
    return general_set_of(line);
  }
  /// Whether set_of(row * sets() + digit) is (digit + rotation(row)) modulo sets().
  bool is_rotation() const {
    return even_ && group_ == 1 && (kind_ == IndexKind::modulo || kind_ == IndexKind::hash || sets_ == 1);
  }
  std::uint32_t rotation(std::uint64_t row) const {
    if (kind_ != IndexKind::hash) return 0;
    return static_cast<std::uint32_t>(by_sets_.divide(mix(row) >> 1).remainder);
  }
  std::uint32_t sets() const { return sets_; }
  std::uint64_t lines() const { return lines_; }
  /// First slot of a set; a set's slots are [begin(s), begin(s + 1)).
  std::uint32_t begin(std::uint32_t set) const { return begin_[set]; }
  std::uint32_t ways(std::uint32_t set) const { return begin_[set + 1] - begin_[set]; }
  std::uint32_t most_ways() const { return most_ways_; }

 private:
  std::uint32_t general_set_of(std::uint64_t line) const;
  std::uint32_t permuted(std::uint64_t unit) const;
  std::uint32_t remainder_set_of(std::uint64_t line) const;
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
  std::uint32_t group_shift_ = 0;
  std::uint64_t set_mask_ = 0;
  std::uint32_t most_ways_ = 0;
  std::vector<std::uint32_t> begin_;
  std::vector<std::uint32_t> table_;  // unequal sets: set of each of `lines` consecutive lines
};

}  // namespace gputopo::sim
