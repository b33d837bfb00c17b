#include "evidence/organisation/index_function.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include <boost/math/distributions/binomial.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gputopo::evidence {
namespace {

using Lines = std::vector<std::uint64_t>;

// Line l lies in set (l / together) mod sets, of so many ways each; 0: of a set that wasn't seen.
struct Modulo {
  std::uint64_t sets = 1, together = 1;
  std::vector<std::uint64_t> ways;
  std::uint64_t set_of(std::uint64_t line) const { return line / together % sets; }
  bool is_known(std::uint64_t line) const { return ways[set_of(line)] != 0; }
};

// What a circle would lose then, of the sets that are known.
Lines predicted(const Circle& circle, const Modulo& modulo) {
  std::vector<std::uint32_t> count(modulo.sets, 0);
  const std::uint64_t end = circle.first + circle.lines;
  for (std::uint64_t line = circle.first; line < end; ++line) ++count[modulo.set_of(line)];
  Lines lost;
  for (std::uint64_t line = circle.first; line < end; ++line)
    if (modulo.is_known(line) && count[modulo.set_of(line)] > modulo.ways[modulo.set_of(line)]) lost.push_back(line);
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
Told refutations(const Collisions& seen, const Modulo& modulo) {
  Told told;
  for (const Window& w : seen.windows) {
    const Lines lost = predicted(w.circle, modulo);
    Lines known = w.lost;
    std::erase_if(known, [&](std::uint64_t line) { return !modulo.is_known(line); });
    told.all += lost.empty() && known.empty() ? 0 : 1;
    told.wrong += agree(lost, known, seen.always) ? 0 : 1;
  }
  return told;
}

// Sets whose lines aren't all of one set of the modulo, or which another one was of as well; the others' ways are known
// then.
Told irregular_sets(const Collisions& seen, Modulo& modulo) {
  Told told;
  std::set<std::uint64_t> taken;
  for (const Lines& set : seen.sets) {
    const std::uint64_t number = modulo.set_of(set.front());
    const bool is_regular = taken.insert(number).second && std::all_of(set.begin(), set.end(), [&](std::uint64_t line) {
                              return modulo.set_of(line) == number;
                            });
    ++told.all;
    told.wrong += is_regular ? 0 : 1;
    modulo.ways[number] = set.size() - 1;
  }
  return told;
}

// How often so many sets of so many ways, or of different ones (0: of a set that wasn't seen), are wrong of what was
// seen.
Told wrong_as_modulo(const Collisions& seen, std::uint64_t sets, std::uint64_t ways, std::uint64_t together) {
  Modulo modulo{sets, together, std::vector<std::uint64_t>(sets, ways)};
  if (const Told irregular = irregular_sets(seen, modulo); irregular.wrong != 0) return irregular;
  return refutations(seen, modulo);
}

// Rows of `sets` units, of which each might have been turned by itself: those that some lost line lies in.
std::size_t rows_seen(const Collisions& seen, std::uint64_t sets, std::uint64_t together) {
  std::set<std::uint64_t> rows;
  const auto add = [&](const Lines& lost) {
    for (const std::uint64_t line : lost) rows.insert(line / together / sets);
  };
  for (const Lines& set : seen.sets) add(set);
  for (const Window& w : seen.windows) add(w.lost);
  return rows.size();
}

// So many neighbours lie in one set of which nearly all lines, but a set's last ones, come in runs of so many, or of
// twice as many: where lines don't divide evenly over the sets a few don't, and of an index that deals out single lines
// half of them at most do.
std::uint32_t block_of(const std::vector<Lines>& sets) {
  constexpr double nearly_all = 0.8;
  for (const std::uint32_t together : {8U, 4U, 2U}) {
    std::uint64_t in_runs = 0, all = 0;
    for (const Lines& set : sets)
      for (std::size_t first = 0, end = 0; first < set.size(); first = end) {
        while (end < set.size() && set[end] - set[first] == end - first) ++end;
        const bool is_whole = (end - first) % together == 0;
        if (is_whole || end < set.size()) all += end - first;
        if (is_whole) in_runs += end - first;
      }
    if (all != 0 && static_cast<double>(in_runs) >= nearly_all * static_cast<double>(all)) return together;
  }
  return 1;
}

// Blocks of which a set has either half: in how many it has both.
struct Blocks {
  std::uint64_t all = 0, whole = 0;
};

// Of blocks that begin `phase` lines behind a multiple of their length; up to a set's last line, since those behind it
// weren't looked at.
Blocks blocks_of(const std::vector<Lines>& sets, std::uint32_t together, std::uint64_t phase) {
  Blocks blocks;
  for (const Lines& set : sets) {
    const auto has = [&](std::uint64_t line) { return std::binary_search(set.begin(), set.end(), line); };
    const std::uint64_t behind = (set.front() + together - phase) % together;
    const std::uint64_t begin = set.front() < behind ? phase : set.front() - behind;
    for (std::uint64_t line = begin; line + together <= set.back() + 1; line += together) {
      const bool first = has(line), second = has(line + together / 2);
      blocks.all += first || second ? 1 : 0;
      blocks.whole += first && second ? 1 : 0;
    }
  }
  return blocks;
}

// Neighbouring blocks of half as many lines share one of few hashed sets by chance, too: whether as many as were seen
// to do so say more.
bool is_block_sure(const std::vector<Lines>& sets, std::uint32_t together, std::uint64_t count) {
  constexpr double by_chance = 0.005;
  if (together == 1) return true;
  Blocks best;
  for (std::uint64_t phase = 0; phase < together; ++phase)
    if (const Blocks blocks = blocks_of(sets, together, phase);
        blocks.whole != 0 && blocks.whole * best.all >= best.whole * blocks.all)
      best = blocks;
  if (best.whole == 0) return false;
  std::size_t most = 0, lines = 0;
  for (const Lines& set : sets) most = std::max(most, set.size()), lines += set.size();
  const double share = std::min(
      1.0, static_cast<double>(most * sets.size()) / (static_cast<double>(lines) * static_cast<double>(count)));
  const boost::math::binomial_distribution<> shared(static_cast<double>(best.all), share);
  const double chance = cdf(complement(shared, static_cast<double>(best.whole) - 1));
  return 2 * chance < by_chance;  // blocks of half as many lines pair up in two ways
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

  // Which address bits make each bit of the index, of those whose part is known by itself: a step from one row to the
  // next may turn several.
  std::string text(std::uint32_t first_bit) const {
    const std::uint32_t first_higher = first_bit + low_bits_;
    std::vector<std::string> parts;
    for (std::uint32_t i = 0; i < low_bits_; ++i) {
      std::vector<std::uint32_t> bits{first_bit + i};
      for (const auto& [pivot, row] : rows_)
        if (is_by_itself(pivot) && (row.sum >> i & 1) != 0) bits.push_back(first_higher + pivot);
      parts.push_back(fmt::format("{}", fmt::join(bits, "^")));
    }
    std::uint32_t known = 0;
    while (is_by_itself(known)) ++known;
    return fmt::format("address bits {}; not each of those above {} was seen to change", fmt::join(parts, ", "),
                       first_higher + known - 1);
  }

 private:
  struct Row {
    std::uint64_t bits, sum;
  };
  bool is_by_itself(std::uint32_t bit) const {
    const auto row = rows_.find(bit);
    return row != rows_.end() && row->second.bits == std::uint64_t{1} << bit;
  }
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
    if (w.circle.first != seen.address && w.lost.size() == ways + 1) add(w.lost);
  return index;
}

// By numbers that count from address 0: a buffer needn't begin where an index function does. Its address is the first
// line's number then.
Collisions counted_from_zero(Collisions seen, std::uint64_t line_bytes) {
  seen.address /= line_bytes;
  const auto shift = [&](Lines& lines) {
    for (std::uint64_t& line : lines) line += seen.address;
  };
  std::for_each(seen.sets.begin(), seen.sets.end(), shift);
  for (Window& w : seen.windows) {
    w.circle.first += seen.address;
    shift(w.lost);
  }
  return seen;
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

IndexFunction index_function(const Collisions& by_buffer, std::uint64_t sets, std::uint64_t ways,
                             std::uint64_t line_bytes) {
  constexpr std::uint64_t enough_bits = 16;  // an index that isn't linear passes them once in 65536
  const Collisions seen = counted_from_zero(by_buffer, line_bytes);
  IndexFunction f;
  for (const Lines& set : seen.sets) f.checks += set.size();
  if (sets == 1) {
    f.kind = IndexFunction::Kind::none;
    f.detail = "one set: any line may lie anywhere";
    return f;
  }
  std::optional<Told> told;  // of the modulo that is least wrong
  for (const std::uint32_t together : {1U, 2U, 4U, 8U}) {
    if (ways % together != 0) continue;
    const Told refuted = wrong_as_modulo(seen, sets, ways, together);
    if (!told || refuted.wrong < told->wrong) told = refuted;
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
  // Neighbours may come in longer runs by an XOR of shorter ones, or of single lines, too.
  for (std::uint32_t together = f.consecutive_lines; together != 0; together /= 2) {
    if (ways == 0 || !std::has_single_bit(sets)) break;
    const LinearIndex linear = linear_index(seen, sets, ways, together);
    const auto bits = static_cast<std::uint64_t>(std::countr_zero(sets));
    if (linear.contradictions() == 0 && linear.checks() * bits >= enough_bits) {
      f.consecutive_lines = together;
      f.kind = linear.is_plain() ? IndexFunction::Kind::modulo : IndexFunction::Kind::exclusive_or;
      f.detail = linear.is_plain() ? modulo_text(sets, line_bytes * together)
                                   : linear.text(static_cast<std::uint32_t>(std::countr_zero(line_bytes * together)));
      return f;
    }
    if (!linear.told().is_mostly_wrong()) {
      f.detail = "what collides is neither what an index of address bits makes collide nor clearly something else";
      return f;
    }
  }
  if (!told->is_mostly_wrong()) {
    f.detail = "too few lines were seen to collide, or not as an index of address bits has it, nor clearly otherwise";
    return f;
  }
  f.kind = IndexFunction::Kind::hash;
  f.detail = "which lines collide is given neither by address bits nor by XORs of them";
  if (!is_block_sure(seen.sets, f.consecutive_lines, sets)) f.consecutive_lines = 0;
  return f;
}

}  // namespace gputopo::evidence
