#include "evidence/organisation/eviction_index.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace gputopo::evidence {
namespace {

bool is_within(double x, const Interval& range) {
  return range.low <= x && x <= range.high;
}

// Line numbers (of groups of neighbours) of one set differ by multiples of the number of sets where the index is that
// number modulo them: so the sets divide what all differences have in common.
std::uint64_t common_step(const std::vector<EvictionSet>& sets, std::uint64_t together) {
  std::uint64_t step = 0;
  for (const EvictionSet& set : sets)
    for (const std::uint64_t line : set.lines) {
      const std::uint64_t a = line / together, b = set.lines.front() / together;
      step = std::gcd(step, std::max(a, b) - std::min(a, b));
    }
  return step;
}

// What the differences (by XOR) of lines of one set span: of b dimensions that those of all lines do, an index of 2^k
// sets that is linear over the bits of a line's number leaves b - k at most.
class LineDifferences {
 public:
  explicit LineDifferences(const std::vector<EvictionSet>& sets) {
    for (const EvictionSet& set : sets)
      for (const std::uint64_t line : set.lines) add(line ^ set.lines.front());
  }
  /// What they could have spanned: those of all lines between.
  static std::uint32_t most_dimensions(const std::vector<EvictionSet>& sets) {
    LineDifferences all({});
    for (const EvictionSet& set : sets) {
      const std::uint64_t first = set.lines.front(), last = set.lines.back();
      for (std::uint64_t line = first; line <= last; ++line) all.add(line ^ first);
    }
    return all.dimensions();
  }
  std::uint64_t count() const { return count_; }
  std::uint32_t dimensions() const { return static_cast<std::uint32_t>(basis_.size()); }
  /// `line` and lines that share its set if what spans the differences does everywhere, `count` of them or as many as
  /// there are.
  std::vector<std::uint64_t> mates_of(std::uint64_t line, std::size_t count) const {
    std::vector<std::uint64_t> mates{line};
    for (const auto& [top, difference] : basis_)
      for (std::size_t i = mates.size(); i-- > 0 && mates.size() < count;) mates.push_back(mates[i] ^ difference);
    return mates;
  }
  /// Whether lines that differ so share a set.
  bool has(std::uint64_t difference) const { return reduced(difference) == 0; }
  /// As many lines right beside these, each of another set.
  std::vector<std::uint64_t> beside(const std::vector<std::uint64_t>& mates) const {
    std::vector<std::uint64_t> offsets, lines;
    for (std::uint64_t offset = 0; offsets.size() < mates.size(); ++offset)
      if (std::ranges::none_of(offsets, [&](std::uint64_t other) { return has(offset ^ other); })) {
        lines.push_back(mates[offsets.size()] ^ offset);
        offsets.push_back(offset);
      }
    return lines;
  }

 private:
  std::uint64_t reduced(std::uint64_t x) const {
    for (auto it = basis_.rbegin(); it != basis_.rend(); ++it)
      if (static_cast<int>(std::bit_width(x)) == it->first) x ^= it->second;
    return x;
  }
  void add(std::uint64_t x) {
    count_ += x != 0 ? 1 : 0;
    if (x = reduced(x); x != 0) basis_[static_cast<int>(std::bit_width(x))] = x;
  }

  std::map<int, std::uint64_t> basis_;  // by highest bit
  std::uint64_t count_ = 0;
};

// Does the step hold everywhere? Rows of sets that are each turned by a unit look like a row with a unit less: all but
// the units at a row's end. So each look reaches over as many rows as there is room for, and the looks begin no further
// apart than that many units: one of them crosses a row's end. Nothing where that takes too many.
Expected<std::optional<bool>> is_step_of_all(Evictions& look, std::uint64_t count, std::uint64_t together,
                                             std::uint64_t ways) {
  constexpr std::uint64_t most = 4096;
  const std::uint64_t rows = look.room_lines() / (count * together) - 1, apart = (rows - 1) / ways;
  const std::uint64_t reach = apart * ways, looks = count / std::max<std::uint64_t>(1, reach - 1) + 2;
  if (looks > most) return std::nullopt;
  std::vector<std::uint64_t> firsts;
  for (std::uint64_t i = 0; i < looks; ++i) firsts.push_back(i * count / looks * together);
  auto seen = look.of_steps(firsts, apart * count * together, ways + 1);
  if (!seen) return tl::unexpected<Error>(seen.error());
  return std::all_of(seen->begin(), seen->end(), [](const Evicted& e) { return e.lost_in_a_round() > 0; });
}

// Nothing where no step that all lines of a set differ by leaves as many sets as the size does.
Expected<std::optional<EvictionIndex>> modulo_index(Evictions& look, const std::vector<EvictionSet>& sets,
                                                    const Interval& range) {
  const std::uint64_t ways = sets.front().lines.size() - 1;
  for (const std::uint64_t together : {1U, 2U, 4U, 8U}) {
    const std::uint64_t count = common_step(sets, together);
    if (static_cast<double>(count) < range.low) continue;
    if (!is_within(static_cast<double>(count), range))
      return EvictionIndex{{}, 0, 1, "lines that collide differ by multiples of more than there are sets", 0};
    if ((ways + 2) * count * together > look.room_lines())
      return EvictionIndex{{}, 0, 1, "there is no room for lines as far apart as those that collide", 0};
    auto is_of_all = is_step_of_all(look, count, together, ways);
    if (!is_of_all) return tl::unexpected<Error>(is_of_all.error());
    if (!*is_of_all)
      return EvictionIndex{{}, 0, 1, "it takes too many looks whether that step holds at each row's end", 0};
    if (!**is_of_all) continue;
    return EvictionIndex{"modulo", count, together,
                         fmt::format("lines that collide differ by multiples of {} lines", count * together),
                         sets.size() * ways};
  }
  return std::nullopt;
}

// Whether lines all over the memory are pushed out by those that linear differences predict; nothing where there is
// room for few of them, or where as many right beside these, of different sets, seem to be: their pages are more than a
// TLB has. By twice as many as a set has ways, where there are: of one more a set that goes by the order in which lines
// came, and has them in another one, may lose as few as strangers hide.
Expected<std::optional<bool>> is_linear(Evictions& look, const LineDifferences& differences, std::size_t ways) {
  constexpr std::uint64_t lines = 64;
  std::vector<std::vector<std::uint64_t>> predicted, beside;
  for (std::uint64_t i = 0; i < lines; ++i) {
    predicted.push_back(differences.mates_of(look.room_lines() / lines * i + i, 2 * ways));
    std::erase_if(predicted.back(), [&](std::uint64_t line) { return line >= look.room_lines(); });
    if (predicted.back().size() <= ways) predicted.pop_back();
  }
  if (predicted.size() < lines / 4) return std::nullopt;
  const auto is_lost = [](const Evicted& e) { return e.lost_in_a_round() > 0; };
  for (const auto& mates : predicted) {
    beside.push_back(differences.beside(mates));
    std::erase_if(beside.back(), [&](std::uint64_t line) { return line >= look.room_lines(); });
  }
  auto others = look.of_lists(beside);
  if (!others) return tl::unexpected<Error>(others.error());
  if (2 * std::ranges::count_if(*others, is_lost) > std::ssize(*others)) return std::nullopt;
  auto seen = look.of_lists(predicted);
  if (!seen) return tl::unexpected<Error>(seen.error());
  return std::ranges::all_of(*seen, is_lost);
}

// `range` is what the size leaves for the number of sets.
Expected<EvictionIndex> linear_or_hash(Evictions& look, const std::vector<EvictionSet>& sets, const Interval& range) {
  constexpr std::uint64_t spare = 16;  // differences that an equation could have got wrong: chance agrees in 2^-16
  const LineDifferences differences(sets);
  EvictionIndex index;
  index.checks = differences.count();
  const std::uint32_t bits = LineDifferences::most_dimensions(sets);
  const std::string spanned = fmt::format("{} of {} dimensions", differences.dimensions(), bits);
  const double most_linear = std::ldexp(1.0, static_cast<int>(bits - differences.dimensions()));
  if (most_linear < range.low) {
    index.kind = "hash";
    index.detail = fmt::format(
        "lines that collide share no step, and their numbers' differences span {}, so that bits of addresses, as "
        "programs see these, alone or added, don't give the set",
        spanned);
    return index;
  }
  index.detail = "too few lines that collide were seen to tell an XOR of address bits from a hash";
  if (!is_within(most_linear, range) || index.checks < differences.dimensions() + spare) return index;
  const std::size_t ways = sets.front().lines.size() - 1;
  if (differences.mates_of(0, ways + 1).size() <= ways) return index;
  auto is_so_everywhere = is_linear(look, differences, ways);
  if (!is_so_everywhere) return tl::unexpected<Error>(is_so_everywhere.error());
  if (!*is_so_everywhere) return index;
  index.detail = fmt::format("{} differences of lines that collide span {}", index.checks, spanned);
  if (!**is_so_everywhere) {
    index.kind = "hash";
    index.detail += ", but not all lines that bits of addresses, alone or added, would make collide do";
    return index;
  }
  index.kind = "xor";
  index.sets = static_cast<std::uint64_t>(most_linear);
  while (differences.has(index.consecutive)) index.consecutive *= 2;
  return index;
}

}  // namespace

Expected<EvictionIndex> index_of(Evictions& look, const std::vector<EvictionSet>& sets, const Interval& range) {
  auto modulo = modulo_index(look, sets, range);
  if (!modulo) return tl::unexpected<Error>(modulo.error());
  return *modulo ? Expected<EvictionIndex>(std::move(**modulo)) : linear_or_hash(look, sets, range);
}

}  // namespace gputopo::evidence
