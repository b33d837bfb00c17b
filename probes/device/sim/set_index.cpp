#include "device/sim/set_index.hpp"

#include <algorithm>
#include <bit>
#include <utility>

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
  by_sets_ = Divisor(sets_);
  by_group_ = Divisor(group_);
  by_lines_ = Divisor(lines_);
  power_ = std::has_single_bit(sets_);
  const bool powers = power_ && std::has_single_bit(group_);
  even_ = table_.empty() && lines_ % (std::uint64_t{sets_} * group_) == 0;
  plain_ = even_ && powers && (kind_ == IndexKind::modulo || sets_ == 1);
  full_rows_ = lines_ / (std::uint64_t{sets_} * group_);
  group_shift_ = static_cast<std::uint32_t>(std::bit_width(group_ - 1));
  set_mask_ = sets_ - 1;
  tabulate();
  tabled_ = !table_.empty() && kind_ == IndexKind::modulo;
  count_ways();
}

// Divisions for each load cost more than reading the set of each of so few lines.
void SetIndex::tabulate() {
  constexpr std::uint64_t few_lines = 1 << 16;
  if (even_ || !table_.empty() || kind_ != IndexKind::modulo || lines_ > few_lines) return;
  std::vector<std::uint32_t> table(lines_);
  for (std::uint64_t line = 0; line < lines_; ++line) table[line] = general_set_of(line);
  table_ = std::move(table);
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
  return even_ ? permuted(by_group_.divide(line).quotient) : remainder_set_of(line);
}

// Each row of `sets_` units is permuted on its own, so every row still gives every set one unit.
std::uint32_t SetIndex::permuted(std::uint64_t unit) const {
  if (unit - latest_row_first_ >= sets_) {
    const auto [row, digit] = by_sets_.divide(unit);
    latest_row_first_ = unit - digit;
    latest_turn_ = turn(row);
  }
  const auto d = static_cast<std::uint32_t>(unit - latest_row_first_);
  const std::uint32_t t = latest_turn_;
  if (is_xor()) return d ^ t;
  return d + t >= sets_ ? d + t - sets_ : d + t;
}

std::uint32_t SetIndex::turn(std::uint64_t row) const {
  if (kind_ == IndexKind::modulo || sets_ == 1) return 0;
  if (kind_ == IndexKind::hash) return static_cast<std::uint32_t>(by_sets_.divide(mix(row) >> 1).remainder);
  std::uint64_t turn = 0;
  std::uint64_t rest = row;
  for (std::uint32_t fold = 0; rest != 0 && (folds_ == 0 || fold < folds_); ++fold) {
    const auto [above, field] = by_sets_.divide(rest);
    // Set counts that are no power of two: digits of base `sets_` added, the counterpart of XOR.
    turn = power_ ? turn ^ field : by_sets_.divide(turn + field).remainder;
    rest = above;
  }
  return static_cast<std::uint32_t>(turn);
}

std::uint32_t SetIndex::remainder_set_of(std::uint64_t line) const {
  const std::uint64_t place = place_of(line);
  if (!table_.empty()) return table_[by_lines_.divide(place + (mix(latest_block_) >> 1)).remainder];
  const std::uint64_t unit = by_group_.divide(place).quotient;
  if (unit >= full_rows_ * sets_) return static_cast<std::uint32_t>(by_sets_.divide(unit).remainder);
  return permuted(latest_block_ * full_rows_ * sets_ + unit);
}

}  // namespace gputopo::sim
