#include "evidence/tlb_levels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "change_point/robust.hpp"
#include "evidence/sameness.hpp"

namespace gputopo::evidence {
namespace {

constexpr std::size_t refill_looks = 33;
constexpr std::uint64_t line_at = 0;

// What is told apart: four standard deviations, and more than a clock's grain.
double least_step(double noise_cycles) {
  return std::max(4 * noise_cycles, 3.0);
}

std::vector<std::uint64_t> growing_pages(std::uint64_t most) {
  constexpr double ratio = 1.0905077326652577;  // eight to the octave
  std::vector<std::uint64_t> all;
  for (double n = 2; n <= static_cast<double>(most); n *= ratio) {
    const auto whole = static_cast<std::uint64_t>(std::lround(n));
    if (all.empty() || whole > all.back()) all.push_back(whole);
  }
  return all;
}

double middle_of_run(const std::vector<double>& values, std::size_t begin, std::size_t end) {
  return change_point::median(
      {values.begin() + static_cast<std::ptrdiff_t>(begin), values.begin() + static_cast<std::ptrdiff_t>(end)});
}

// What is told apart there.
double step_at(const Rise& rise, double cycles) {
  return std::max(least_step(rise.noise_cycles), rise.share * (cycles - rise.nothing_lost_cycles));
}

// Runs of neighbours that agree with the run's median, as long as they go; each begins where the one before ends.
std::vector<std::pair<std::size_t, std::size_t>> runs_of(const Rise& rise) {
  std::vector<std::pair<std::size_t, std::size_t>> runs;
  for (std::size_t i = 0; i < rise.cycles.size();) {
    std::size_t end = i + 1;
    for (; end < rise.cycles.size(); ++end) {
      const double middle = middle_of_run(rise.cycles, i, end);
      if (std::fabs(rise.cycles[end] - middle) > step_at(rise, middle)) break;
    }
    runs.emplace_back(i, end);
    i = end;
  }
  return runs;
}

}  // namespace

std::vector<Plateau> plateaus_of(const Rise& rise) {
  constexpr std::size_t enough = 3;
  std::vector<Plateau> all;
  for (const auto& [begin, end] : runs_of(rise)) {
    const double level = middle_of_run(rise.cycles, begin, end), step = step_at(rise, level);
    // A first level may hold too few for a run, but then nothing is lost there.
    const bool is_first = begin == 0 && std::fabs(level - rise.nothing_lost_cycles) <= step;
    if (end - begin < enough && !is_first) continue;
    const double risen = level - (all.empty() ? rise.nothing_lost_cycles : all.back().cycles);
    if (!all.empty() && std::fabs(risen) <= step) {
      all.back().to = rise.places[end - 1];
    } else if (all.empty() || risen > 0) {
      all.push_back({level, rise.places[begin], rise.places[end - 1], 0});
    }
  }
  return all;
}

namespace {

// Asks the line how long it takes after so many places were touched; with `touches` its neighbour right before.
PageProgram probe_of(Pages& pages, std::uint32_t sm, std::uint64_t count, bool touches) {
  return [&pages, sm, count, touches](std::uint64_t variant) {
    PageProbe p(pages.session().info(), {sm});
    p.touch(0, neighbour_of(line_at)).touch(0, line_at).walk(0, pages.spread(count, variant));
    if (touches) p.touch(0, neighbour_of(line_at));
    return p.look(line_at, pages.margin());
  };
}

}  // namespace

// Of numbers of places within the plateau, the least after which nearly every look finds the line's translation just
// there; else the one after which most do.
Expected<void> choose_typical(Pages& pages, std::uint32_t sm, TlbLevels& levels, std::size_t level) {
  constexpr std::size_t times = 24;
  constexpr std::size_t nearly_all = 23;
  Plateau& p = levels.plateaus[level];
  const auto middle = [&](std::size_t i) { return (levels.plateaus[i].cycles + levels.plateaus[i + 1].cycles) / 2; };
  const double low = levels.hot_cycles + middle(level - 1);
  const double high =
      level + 1 < levels.plateaus.size() ? levels.hot_cycles + middle(level) : std::numeric_limits<double>::max();
  std::vector<std::uint64_t> tried;
  for (double n = static_cast<double>(p.from); n <= static_cast<double>(p.to); n *= 1.25)
    tried.push_back(static_cast<std::uint64_t>(n));
  std::vector<PageProgram> programs;
  for (const std::uint64_t n : tried) programs.push_back(probe_of(pages, sm, n, false));
  auto seen = pages.run(programs, times);
  if (!seen) return tl::unexpected<Error>(seen.error());
  std::size_t most = 0, before = 0;
  for (std::size_t i = 0; i < tried.size(); ++i) {
    const auto there = static_cast<std::size_t>(std::count_if(
        (*seen)[i].begin(), (*seen)[i].end(), [&](double cycles) { return cycles >= low && cycles < high; }));
    if (there > most || p.typical == 0) p.typical = tried[i];
    most = std::max(most, there);
    // One more step: the look itself takes an entry, too.
    if (std::min(there, before) >= nearly_all) {
      p.typical = tried[i];
      break;
    }
    before = there;
  }
  return {};
}

namespace {

// How many plateaus are surely in a row. A look finds the line's translation in one level or in another, and what looks
// around a quartile say is of one: times between two plateaus' are of a level that shows at too few numbers of places
// in a row. Strangers delay a quarter of the looks at one number of places now and then, and hardly ever when `ask`
// asks that again.
Expected<std::size_t> surely_in_a_row(const TlbLevels& found, const std::vector<std::uint64_t>& places,
                                      const std::vector<double>& cycles,
                                      const std::function<Expected<double>(std::uint64_t)>& ask) {
  const double apart = least_step(found.noise_cycles);
  for (std::size_t level = 1; level < found.plateaus.size(); ++level) {
    const Plateau &before = found.plateaus[level - 1], &next = found.plateaus[level];
    const auto is_between = [&](double x) { return x > before.cycles + apart && x < next.cycles - apart; };
    std::vector<std::uint64_t> between;
    for (std::size_t i = 0; i < cycles.size(); ++i)
      if (places[i] > before.from && places[i] < next.to && is_between(cycles[i])) between.push_back(places[i]);
    if (between.empty()) continue;
    if (between.size() > 1) return level;
    const auto again = ask(between.front());
    if (!again) return tl::unexpected<Error>(again.error());
    if (is_between(*again)) return level;
  }
  return found.plateaus.size();
}

// Of each number of places; fewer of many, which take long: what lies behind a TLB of hundreds of entries is farther
// than a load's noise.
Expected<std::vector<std::vector<double>>> looks_after(Pages& pages, std::uint32_t sm,
                                                       const std::vector<std::uint64_t>& places, bool touches) {
  constexpr std::array<std::pair<std::uint64_t, std::size_t>, 3> looks_to{
      {{512, 33}, {2048, 17}, {std::numeric_limits<std::uint64_t>::max(), 9}}};
  std::vector<std::vector<double>> all;
  for (const auto& [most_places, looks] : looks_to) {
    std::vector<PageProgram> programs;
    for (; all.size() + programs.size() < places.size() && places[all.size() + programs.size()] <= most_places;)
      programs.push_back(probe_of(pages, sm, places[all.size() + programs.size()], touches));
    auto seen = pages.run(programs, looks);
    if (!seen) return seen;
    all.insert(all.end(), seen->begin(), seen->end());
  }
  return all;
}

}  // namespace

Expected<TlbLevels> find_tlb_levels(Pages& pages, std::uint32_t sm) {
  // Of the absolute deviation that nine in ten don't exceed, where values are normally distributed. Here they may be
  // far off seldom: a middle deviation would hide that.
  constexpr double normal_deviation = 1 / 1.6449;
  TlbLevels found;
  const std::vector<std::uint64_t> places = growing_pages(pages.most());
  auto without = looks_after(pages, sm, places, false);
  if (!without) return tl::unexpected<Error>(without.error());
  auto with = looks_after(pages, sm, places, true);
  if (!with) return tl::unexpected<Error>(with.error());
  // A line whose translation was brought back is the control: what it takes, and by how much that differs from one
  // number of places to the next. Of few, which no cache loses the line to.
  const std::size_t few = (with->size() + 1) / 2;
  std::vector<double> hot;
  for (std::size_t i = 0; i < few; ++i) hot.insert(hot.end(), (*with)[i].begin(), (*with)[i].end());
  std::sort(hot.begin(), hot.end());
  found.hot_cycles = middle_time(hot);
  const double reach = spread_time(hot) + 1;
  std::vector<double> control;
  for (const auto& looks : *with) control.push_back(mode_time(looks, reach));
  std::vector<double> apart(control.begin(), control.begin() + static_cast<std::ptrdiff_t>(few));
  const double near = change_point::median(apart);
  for (double& cycles : apart) cycles = std::fabs(cycles - near);
  std::sort(apart.begin(), apart.end());
  found.noise_cycles = std::max(0.5, normal_deviation * apart[apart.size() * 9 / 10]);
  const auto is_lost = [&](std::size_t i) { return control[i] - near > least_step(found.noise_cycles); };
  std::vector<double> cycles;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (is_lost(i) && is_lost(std::min(i + 1, places.size() - 1))) break;
    cycles.push_back(mode_time((*without)[i], reach) - near);
    found.most = places[i];
  }
  found.by_places.label = "the lower quartile's looks";
  for (std::size_t i = 0; i < cycles.size(); ++i)
    found.by_places.points.emplace_back(static_cast<double>(places[i]), cycles[i]);
  if (!cycles.empty()) found.plateaus = plateaus_of({places, cycles, 0, found.noise_cycles, 0});
  for (std::size_t i = 1; i < found.plateaus.size(); ++i)
    if (auto ok = choose_typical(pages, sm, found, i); !ok) return tl::unexpected<Error>(ok.error());
  // What is farther than a translation at hand after as few places as there are lies behind a level that wasn't seen.
  const bool begins_at_hand =
      !found.plateaus.empty() && found.plateaus.front().cycles <= least_step(found.noise_cycles);
  const auto ask = [&](std::uint64_t count) -> Expected<double> {
    auto seen = looks_after(pages, sm, {count}, false);
    if (!seen) return tl::unexpected<Error>(seen.error());
    return mode_time(seen->front(), reach) - near;
  };
  const auto sure =
      begins_at_hand ? surely_in_a_row(found, places, cycles, ask) : Expected<std::size_t>(std::size_t{0});
  if (!sure) return tl::unexpected<Error>(sure.error());
  found.may_hide_one = *sure < found.plateaus.size();
  found.plateaus.resize(*sure);
  return found;
}

namespace {

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
      return probe.walk(0, pages_.spread(drop.nearer, variant + 1)).look(timed, pages_.margin());
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
  auto first = BorderSearch(refill, line_at).find(limit);
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
