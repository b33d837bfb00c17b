#include "device/sim/set_index.hpp"

#include <algorithm>
#include <bit>

#include "device/sim/random.hpp"

namespace gputopo::sim {
namespace {

// Unequal sets: one line to each set in turn, passing over those that are full.
std::vector<std::uint32_t> round_robin(std::vector<std::uint32_t> ways) {
  std::vector<std::uint32_t> table;
  for (bool placed = true; placed;) {
    placed = false;
    for (std::uint32_t set = 0; set < ways.size(); ++set) {
      if (ways[set] == 0) continue;
      --ways[set];
      table.push_back(set);
      placed = true;
    }
  }
  return table;
}

}  // namespace

SetIndex::SetIndex(const Organisation& organisation, std::uint64_t lines)
    : lines_(std::max<std::uint64_t>(1, lines)),
      sets_(static_cast<std::uint32_t>(std::min<std::uint64_t>(organisation.sets, lines_))),
      group_(organisation.consecutive_lines),
      kind_(organisation.index),
      folds_(organisation.folds) {
  if (!organisation.set_ways.empty()) {
    table_ = round_robin(organisation.set_ways);
    sets_ = static_cast<std::uint32_t>(organisation.set_ways.size());
    lines_ = table_.size();
  }
  const bool powers = std::has_single_bit(sets_) && std::has_single_bit(group_);
  even_ = table_.empty() && lines_ % (std::uint64_t{sets_} * group_) == 0;
  plain_ = even_ && powers && (kind_ == IndexKind::modulo || sets_ == 1);
  set_bits_ = static_cast<std::uint32_t>(std::bit_width(sets_ - 1));
  group_shift_ = static_cast<std::uint32_t>(std::bit_width(group_ - 1));
  set_mask_ = sets_ - 1;
  count_ways();
}

// The sets' sizes are what the index function puts into them, so that a full array holds a contiguous footprint.
void SetIndex::count_ways() {
  std::vector<std::uint32_t> ways(sets_, even_ ? static_cast<std::uint32_t>(lines_ / sets_) : 0);
  if (!even_)
    for (std::uint64_t line = 0; line < lines_; ++line) ++ways[set_of(line)];
  begin_.assign(sets_ + 1, 0);
  for (std::uint32_t set = 0; set < sets_; ++set) begin_[set + 1] = begin_[set] + ways[set];
  most_ways_ = *std::max_element(ways.begin(), ways.end());
}

std::uint32_t SetIndex::general_set_of(std::uint64_t line) const {
  return even_ ? permuted(line / group_) : remainder_set_of(line);
}

// Each row of `sets_` units is permuted on its own, so every row still gives every set one unit.
std::uint32_t SetIndex::permuted(std::uint64_t unit) const {
  const bool power = std::has_single_bit(sets_);
  const std::uint64_t digit = power ? unit & set_mask_ : unit % sets_;
  std::uint64_t row = power ? unit >> set_bits_ : unit / sets_;
  if (kind_ == IndexKind::modulo || sets_ == 1) return static_cast<std::uint32_t>(digit);
  if (kind_ == IndexKind::hash) return static_cast<std::uint32_t>((digit + mix(row) % sets_) % sets_);
  std::uint64_t index = digit;
  for (std::uint32_t fold = 0; row != 0 && (folds_ == 0 || fold < folds_); ++fold) {
    // Set counts that are no power of two: digits of base `sets_` added, the counterpart of XOR.
    index = power ? index ^ (row & set_mask_) : (index + row % sets_) % sets_;
    row = power ? row >> set_bits_ : row / sets_;
  }
  return static_cast<std::uint32_t>(index);
}

std::uint32_t SetIndex::remainder_set_of(std::uint64_t line) const {
  const std::uint64_t block = line / lines_;
  const std::uint64_t place = line % lines_;
  if (!table_.empty()) {
    if (kind_ == IndexKind::modulo) return table_[place];
    return table_[(place + mix(block)) % lines_];
  }
  const std::uint64_t row_lines = std::uint64_t{sets_} * group_;
  const std::uint64_t full_rows = lines_ / row_lines;
  const std::uint64_t unit = place / group_;
  if (unit >= full_rows * sets_) return static_cast<std::uint32_t>(unit % sets_);
  return permuted(block * full_rows * sets_ + unit);
}

}  // namespace gputopo::sim
