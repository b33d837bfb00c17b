#include "evidence/index_function.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gputopo::evidence {
namespace {

using Lines = std::vector<std::uint64_t>;

// What a circle would lose where line l lies in set (l / together) mod sets.
Lines predicted(const Circle& circle, std::uint64_t sets, std::uint64_t ways, std::uint64_t together) {
  std::vector<std::uint32_t> count(sets, 0);
  const std::uint64_t end = circle.first + circle.lines;
  for (std::uint64_t line = circle.first; line < end; ++line) ++count[line / together % sets];
  Lines lost;
  for (std::uint64_t line = circle.first; line < end; ++line)
    if (count[line / together % sets] > ways) lost.push_back(line);
  return lost;
}

// The same lines; where a set loses only some of its lines now and then, a tenth of them may not have been seen to go.
bool agree(const Lines& predicted, const Lines& lost, bool always) {
  if (always) return predicted == lost;
  return std::includes(predicted.begin(), predicted.end(), lost.begin(), lost.end()) &&
         lost.size() * 10 >= predicted.size() * 9;
}

// Windows that lose any, as they were seen or as modulo has it, and those of them in which it is wrong.
struct Told {
  std::size_t all = 0, wrong = 0;
  // Of a hash hardly any comes out right: what is wrong in some of them was seen wrongly.
  bool is_mostly_wrong() const { return wrong > 1 && 2 * wrong > all; }
};
Told refutations(const Collisions& seen, std::uint64_t sets, std::uint64_t ways, std::uint64_t together) {
  Told told;
  for (const Window& w : seen.windows) {
    const Lines lost = predicted(w.circle, sets, ways, together);
    told.all += lost.empty() && w.lost.empty() ? 0 : 1;
    told.wrong += agree(lost, w.lost, seen.always) ? 0 : 1;
  }
  return told;
}

// Sets, of different ways, whose lines don't all have one number modulo the sets.
Told irregular_sets(const Collisions& seen, std::uint64_t sets) {
  return {seen.sets.size(),
          static_cast<std::size_t>(std::count_if(seen.sets.begin(), seen.sets.end(), [&](const Lines& set) {
            return std::any_of(set.begin(), set.end(),
                               [&](std::uint64_t line) { return line % sets != set.front() % sets; });
          }))};
}

// Rows of `sets` units, of which each might have been turned by itself: those that some lost line lies in.
std::size_t rows_seen(const Collisions& seen, std::uint64_t sets, std::uint64_t together) {
  std::set<std::uint64_t> rows;
  for (const Window& w : seen.windows)
    for (const std::uint64_t line : w.lost) rows.insert(line / together / sets);
  return rows.size();
}

// All but a set's last line come in whole blocks of neighbours.
bool in_blocks(const Lines& set, std::uint64_t together) {
  std::map<std::uint64_t, std::uint64_t> blocks;
  for (const std::uint64_t line : set) ++blocks[line / together];
  const std::uint64_t last = set.back() / together;
  return std::all_of(blocks.begin(), blocks.end(),
                     [&](const auto& b) { return b.first == last || b.second == together; });
}

std::uint32_t block_of(const std::vector<Lines>& sets) {
  for (const std::uint32_t together : {8U, 4U, 2U})
    if (std::all_of(sets.begin(), sets.end(), [&](const Lines& s) { return in_blocks(s, together); })) return together;
  return 1;
}

// Equations over GF(2): the columns named by `bits` of `unknowns`, added, are `sum`. The lowest bits of a unit's number
// name its set by themselves; a higher bit has a column that says which of them it turns.
class LinearIndex {
 public:
  explicit LinearIndex(std::uint32_t low_bits) : low_bits_(low_bits) {}

  // Two units lie in one set.
  void add(std::uint64_t a, std::uint64_t b) {
    std::uint64_t bits = (a ^ b) >> low_bits_;
    std::uint64_t sum = (a ^ b) & ((std::uint64_t{1} << low_bits_) - 1);
    for (const auto& [pivot, row] : rows_)
      if ((bits >> pivot & 1) != 0) bits ^= row.bits, sum ^= row.sum;
    if (bits == 0) {
      if (sum != 0)
        ++contradictions_;
      else
        checked_.insert(((a ^ b) >> low_bits_));
      return;
    }
    const auto pivot = static_cast<std::uint32_t>(std::bit_width(bits) - 1);
    for (auto& [other, row] : rows_)
      if ((row.bits >> pivot & 1) != 0) row.bits ^= bits, row.sum ^= sum;
    rows_[pivot] = {bits, sum};
  }
  // Rows of units that had to come out right, each once, however many sets say it.
  std::uint64_t checks() const { return checked_.size() - checked_.contains(0); }
  std::uint64_t contradictions() const { return contradictions_; }
  Told told() const { return {checks() + contradictions_, contradictions_}; }

  // No higher bit takes part.
  bool is_plain() const {
    return std::all_of(rows_.begin(), rows_.end(), [](const auto& row) { return row.second.sum == 0; });
  }

  // Which address bits make each bit of the index, of those that are known.
  std::string text(std::uint32_t first_bit) const {
    std::vector<std::string> parts;
    for (std::uint32_t i = 0; i < low_bits_; ++i) {
      std::vector<std::uint32_t> bits{first_bit + i};
      for (const auto& [pivot, row] : rows_)
        if (row.bits == std::uint64_t{1} << pivot && (row.sum >> i & 1) != 0)
          bits.push_back(first_bit + low_bits_ + pivot);
      parts.push_back(fmt::format("{}", fmt::join(bits, "^")));
    }
    return fmt::format("address bits {}", fmt::join(parts, ", "));
  }

 private:
  struct Row {
    std::uint64_t bits, sum;
  };
  std::uint32_t low_bits_;
  std::map<std::uint32_t, Row> rows_;  // by the highest bit, which no other row has
  std::set<std::uint64_t> checked_;
  std::uint64_t contradictions_ = 0;
};

LinearIndex linear_index(const Collisions& seen, std::uint64_t sets, std::uint64_t ways, std::uint64_t together) {
  LinearIndex index(static_cast<std::uint32_t>(std::countr_zero(sets)));
  const auto add = [&](const Lines& set) {
    for (const std::uint64_t line : set) index.add(set.front() / together, line / together);
  };
  for (const Lines& set : seen.sets) add(set);
  for (const Window& w : seen.windows)
    if (w.circle.first != 0 && w.lost.size() == ways + 1) add(w.lost);
  return index;
}

std::string modulo_text(std::uint64_t sets, std::uint64_t unit_bytes) {
  const auto first = static_cast<std::uint32_t>(std::countr_zero(unit_bytes));
  const auto bits = static_cast<std::uint32_t>(std::countr_zero(sets));
  if (!std::has_single_bit(sets)) return fmt::format("the address divided by {}, modulo {}", unit_bytes, sets);
  return bits == 1 ? fmt::format("address bit {}", first)
                   : fmt::format("address bits {} to {}", first, first + bits - 1);
}

}  // namespace

std::string_view to_string(IndexFunction::Kind kind) {
  switch (kind) {
    case IndexFunction::Kind::none:
      return "none";
    case IndexFunction::Kind::modulo:
      return "modulo";
    case IndexFunction::Kind::exclusive_or:
      return "xor";
    case IndexFunction::Kind::hash:
      return "hash";
    case IndexFunction::Kind::unknown:
      return "";
  }
  return "";
}

IndexFunction index_function(const Collisions& seen, std::uint64_t sets, std::uint64_t ways, std::uint64_t line_bytes) {
  constexpr std::uint64_t enough_bits = 16;  // an index that isn't linear passes them once in 65536
  IndexFunction f;
  for (const Lines& set : seen.sets) f.checks += set.size();
  if (sets == 1) {
    f.kind = IndexFunction::Kind::none;
    f.detail = "one set: any line may lie anywhere";
    return f;
  }
  Told told = ways == 0 ? irregular_sets(seen, sets) : Told{seen.windows.size(), seen.windows.size()};
  for (const std::uint32_t together : {1U, 2U, 4U, 8U}) {
    if (ways == 0 || ways % together != 0) continue;
    const Told refuted = refutations(seen, sets, ways, together);
    if (refuted.wrong < told.wrong) told = refuted;
    if (refuted.wrong != 0) continue;
    const auto rows = static_cast<double>(rows_seen(seen, sets, together));
    if ((rows - 1) * std::log2(static_cast<double>(sets)) < enough_bits) {
      f.detail = "too few lines were seen to collide to tell one index from another";
      return f;
    }
    f.kind = IndexFunction::Kind::modulo;
    f.consecutive_lines = together;
    f.detail = modulo_text(sets, line_bytes * together);
    return f;
  }
  f.consecutive_lines = block_of(seen.sets);
  if (ways != 0 && std::has_single_bit(sets)) {
    const LinearIndex linear = linear_index(seen, sets, ways, f.consecutive_lines);
    const auto bits = static_cast<std::uint64_t>(std::countr_zero(sets));
    if (linear.contradictions() == 0 && linear.checks() * bits >= enough_bits) {
      if (linear.is_plain()) {
        f.kind = IndexFunction::Kind::modulo;
        f.detail = modulo_text(sets, line_bytes * f.consecutive_lines);
        return f;
      }
      f.kind = IndexFunction::Kind::exclusive_or;
      f.detail = linear.text(static_cast<std::uint32_t>(std::countr_zero(line_bytes * f.consecutive_lines)));
      return f;
    }
    if (!linear.told().is_mostly_wrong()) {
      f.detail = "what collides is neither what an index of address bits makes collide nor clearly something else";
      return f;
    }
  }
  if (!told.is_mostly_wrong()) {
    f.detail = "too few lines were seen to collide, or not as an index of address bits has it, nor clearly otherwise";
    return f;
  }
  f.kind = IndexFunction::Kind::hash;
  f.detail = "which lines collide is given neither by address bits nor by XORs of them";
  return f;
}

}  // namespace gputopo::evidence
