// What one entry of a TLB covers: how far from a line whose translation was brought back others are served by it.
#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "evidence/inference/sameness.hpp"
#include "evidence/translation/tlb_levels.hpp"

namespace gputopo::evidence {
namespace {

constexpr std::size_t refill_looks = 33;
constexpr std::uint64_t refill_line_at = 0;

enum class Served { yes, no, unclear };

// Whether a line is served by an entry that another line brought back.
class Refill {
  // Half of the looks are less than what a miss makes them longer by, so that all of them count as a bit less.
  static constexpr double controls_tell = 0.7;

  // Places that push a translation out of the level, and of nearer ones alone.
  struct Drop {
    std::uint64_t here = 0, nearer = 0;
  };

 public:
  Refill(Pages& pages, std::uint32_t sm, const TlbLevels& levels, std::size_t level)
      : pages_(pages),
        sm_(sm),
        drops_{Drop{levels.plateaus[level].typical, levels.plateaus[level - 1].typical},
               Drop{levels.plateaus[level].to, level > 1 ? levels.plateaus[level - 1].to : 0}},
        level_(level),
        levels_(levels) {
    nearer_cycles_ = levels.plateaus[level - 1].cycles;
    step_ = levels.plateaus[level].cycles - nearer_cycles_;
  }

  // Held against the same with the line itself brought back, and with nothing.
  Expected<Served> serves(std::uint64_t line, std::uint64_t other) {
    constexpr std::size_t most_times = 3;
    for (std::size_t time = 0; time < most_times; ++time) {
      auto served = ask(line, other);
      if (!served || *served != Served::unclear) return served;
    }
    return Served::unclear;
  }

  std::vector<Series> served() const {
    std::vector<Series> all;
    for (const auto& [line, by_distance] : served_) {
      Series& series = all.emplace_back();
      series.label = fmt::format("an entry brought back from {} KiB on", line >> 10);
      for (const auto& [bytes, share] : by_distance) series.points.emplace_back(static_cast<double>(bytes), share);
    }
    return all;
  }

 private:
  // A second time with more others: not all sets are full with those that filled the first line's.
  Expected<Served> ask(std::uint64_t line, std::uint64_t other) {
    for (const Drop& drop : drops_) {
      auto seen = pages_.run({program(drop, other, line), program(drop, other, other), program(drop, other, {}),
                              at_hand(pages_, sm_, other)},
                             refill_looks);
      if (!seen) return tl::unexpected<Error>(seen.error());
      const double apart = near_time((*seen)[2]) - near_time((*seen)[1]);
      if (apart < step_ / 2 || (level_ > 1 && is_nearer((*seen)[1], (*seen)[3]))) continue;
      // The others may have pushed it out of a further level, too, whose entry covers more: that isn't this one's.
      const double cycles = std::min(apart, step_);
      const auto answered = [&](std::size_t i) {
        const Tally lost = lost_translations((*seen)[i], (*seen)[3], nearer_cycles_, cycles);
        return Tally{lost.loads, lost.loads - lost.misses};
      };
      // Where chance keeps or loses what the controls lose or keep, what comes back may be a further level's, too.
      if (answered(1).share() < controls_tell || answered(2).share() > 1 - controls_tell) continue;
      served_[line][std::max(line, other) - std::min(line, other)] = answered(0).share();
      const Sameness s = sameness(answered(0), answered(1), answered(2));
      if (s.decided) return s.is_same() ? Served::yes : Served::no;
    }
    return Served::unclear;
  }

  // Whether what the line itself brought back lies in a nearer level still, more often than a level's typical number of
  // places leaves it there: that one's entries would be told then.
  bool is_nearer(const std::vector<double>& looks, const std::vector<double>& hot) const {
    const double before = levels_.plateaus[level_ - 2].cycles;
    return lost_translations(looks, hot, before, nearer_cycles_ - before).share() < controls_tell;
  }

  PageProgram program(const Drop& drop, std::uint64_t timed, std::optional<std::uint64_t> brought_back) const {
    return [this, drop, timed, brought_back](std::uint64_t variant) {
      PageProbe probe(pages_.session().info(), {sm_});
      probe.touch(0, timed).walk(0, pages_.spread_quickly(drop.here, variant));
      // Another line than the one that is timed: what serves that is the entry.
      if (brought_back) probe.touch(0, neighbour_of(*brought_back));
      return probe.walk(0, pages_.spread(drop.nearer, variant + 1)).look(timed, pages_.elsewhere(variant));
    };
  }

  Pages& pages_;
  std::uint32_t sm_;
  std::array<Drop, 2> drops_;
  std::size_t level_;
  const TlbLevels& levels_;
  double nearer_cycles_ = 0, step_ = 0;  // what losses from the levels before cost, and how much more from this one
  std::map<std::uint64_t, std::map<std::uint64_t, double>> served_;  // by line and distance
};

// The first address above `from` that its entry doesn't cover; 0 where that doesn't show. Looked for at powers of two,
// and then, unless it lies at one, down to a page.
class BorderSearch {
 public:
  BorderSearch(Refill& refill, std::uint64_t from) : refill_(refill), from_(from) {}

  // Whether the border is `away` from here, where another one was.
  Expected<bool> is_at(std::uint64_t away) {
    auto ok = ask(away);
    if (ok && outside_ == away) ok = ask(away - page);
    if (!ok) return tl::unexpected<Error>(ok.error());
    return inside_ + page == away && outside_ == away;
  }

  Expected<std::uint64_t> find(std::uint64_t limit) {
    std::vector<std::uint64_t> powers;
    for (std::uint64_t away = page; from_ + away < limit; away *= 2) powers.push_back(away);
    for (std::size_t low = 0, high = powers.size(); low < high && !is_unclear_;) {
      const std::size_t middle = low + (high - low) / 2;
      if (auto ok = ask(powers[middle]); !ok) return tl::unexpected<Error>(ok.error());
      if (outside_ == powers[middle])
        high = middle;
      else
        low = middle + 1;
    }
    if (outside_ == 0) return 0;
    // From border to border it is a power of two, mostly: a short cut, so that an unclear answer changes nothing.
    if (const std::uint64_t last = outside_ - page; last > inside_ && !is_unclear_) {
      if (auto ok = ask(last); !ok) return tl::unexpected<Error>(ok.error());
      is_unclear_ = false;
    }
    for (std::uint64_t middle = outside_ - page; outside_ - inside_ > page && !is_unclear_;
         middle = inside_ + (outside_ - inside_) / 2 / page * page)
      if (auto ok = ask(middle); !ok) return tl::unexpected<Error>(ok.error());
    return is_unclear_ ? 0 : from_ + outside_;
  }

 private:
  static constexpr std::uint64_t page = 4096;

  Expected<void> ask(std::uint64_t away) {
    auto served = refill_.serves(from_, from_ + away);
    if (!served) return tl::unexpected<Error>(served.error());
    is_unclear_ = is_unclear_ || *served == Served::unclear;
    if (*served == Served::yes) inside_ = away;
    if (*served == Served::no) outside_ = away;
    return {};
  }

  Refill& refill_;
  std::uint64_t from_;
  std::uint64_t inside_ = 0, outside_ = 0;  // outside 0: none found yet
  bool is_unclear_ = false;
};

}  // namespace

Expected<EntrySize> find_entry_size(Pages& pages, std::uint32_t sm, const TlbLevels& levels, std::size_t level) {
  EntrySize found;
  Refill refill(pages, sm, levels, level);
  const std::uint64_t limit = pages.margin() / 2;
  auto first = BorderSearch(refill, refill_line_at).find(limit);
  if (!first) return tl::unexpected<Error>(first.error());
  found.served = refill.served();
  auto second = *first == 0 ? first : BorderSearch(refill, *first).find(limit);
  if (!second) return tl::unexpected<Error>(second.error());
  if (*second == 0) {
    found.why_open = "how far an entry that was brought back serves other lines doesn't show clearly";
    return found;
  }
  const std::uint64_t bytes = *second - *first;
  auto again = BorderSearch(refill, *second).is_at(bytes);
  if (!again) return tl::unexpected<Error>(again.error());
  found.served = refill.served();
  found.first_border = *first;
  if (*again)
    found.bytes = bytes;
  else
    found.why_open = "entries don't cover equal stretches";
  return found;
}

}  // namespace gputopo::evidence
