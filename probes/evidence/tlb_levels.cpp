#include "evidence/tlb_levels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "change_point/robust.hpp"
#include "evidence/sameness.hpp"

namespace gputopo::evidence {
namespace {

constexpr std::size_t tlb_levels_looks = 17;
constexpr std::uint64_t line_at = 0;

// A line of the same page as `at`, but neither the same line nor one that comes with it.
std::uint64_t neighbour_of(std::uint64_t at) {
  constexpr std::uint64_t away = 2048;  // pages are 4 KiB at least
  return at ^ away;
}

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

// Runs of neighbours within a step of the run's median, as long as they go; each begins where the one before ends.
std::vector<std::pair<std::size_t, std::size_t>> runs_of(const std::vector<double>& cycles, double step, double share) {
  std::vector<std::pair<std::size_t, std::size_t>> runs;
  for (std::size_t i = 0; i < cycles.size();) {
    std::size_t end = i + 1;
    for (; end < cycles.size(); ++end) {
      const double middle = change_point::median(
          {cycles.begin() + static_cast<std::ptrdiff_t>(i), cycles.begin() + static_cast<std::ptrdiff_t>(end)});
      if (std::fabs(cycles[end] - middle) > std::max(step, share * (middle - cycles.front()))) break;
    }
    runs.emplace_back(i, end);
    i = end;
  }
  return runs;
}

}  // namespace

std::vector<Plateau> plateaus_of(const std::vector<std::uint64_t>& places, const std::vector<double>& cycles,
                                 double noise_cycles, double share) {
  constexpr std::size_t enough = 3;
  const double step = least_step(noise_cycles);
  std::vector<Plateau> all;
  for (const auto& [begin, end] : runs_of(cycles, step, share)) {
    if (end - begin < enough && begin != 0) continue;
    const double level = change_point::median(
        {cycles.begin() + static_cast<std::ptrdiff_t>(begin), cycles.begin() + static_cast<std::ptrdiff_t>(end)});
    const double apart = std::max(step, share * (level - cycles.front()));
    if (!all.empty() && std::fabs(level - all.back().cycles) <= apart) {
      all.back().to = places[end - 1];
    } else if (all.empty() || level > all.back().cycles) {
      all.push_back({level, places[begin], places[end - 1], 0});
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

// How many plateaus are surely in a row. A look finds the line's translation in one level or in another, and a quartile
// of looks is one look: times between two plateaus' are of a level that shows at too few numbers of places in a row.
std::size_t surely_in_a_row(const TlbLevels& found, const std::vector<std::uint64_t>& places,
                            const std::vector<double>& cycles) {
  constexpr std::size_t by_chance = 1;  // strangers delay a quarter of the looks at one number of places, hardly at two
  const double apart = least_step(found.noise_cycles);
  for (std::size_t level = 1; level < found.plateaus.size(); ++level) {
    const Plateau &before = found.plateaus[level - 1], &next = found.plateaus[level];
    std::size_t between = 0;
    for (std::size_t i = 0; i < cycles.size(); ++i)
      if (places[i] > before.from && places[i] < next.to)
        between += cycles[i] > before.cycles + apart && cycles[i] < next.cycles - apart ? 1 : 0;
    if (between > by_chance) return level;
  }
  return found.plateaus.size();
}

}  // namespace

Expected<TlbLevels> find_tlb_levels(Pages& pages, std::uint32_t sm) {
  constexpr double normal_deviation = 1.4826;  // of the median absolute one, where values are normally distributed
  TlbLevels found;
  const std::vector<std::uint64_t> places = growing_pages(pages.most());
  std::vector<PageProgram> lost, back;
  for (const std::uint64_t count : places) {
    lost.push_back(probe_of(pages, sm, count, false));
    back.push_back(probe_of(pages, sm, count, true));
  }
  auto without = pages.run(lost, tlb_levels_looks);
  if (!without) return tl::unexpected<Error>(without.error());
  auto with = pages.run(back, tlb_levels_looks);
  if (!with) return tl::unexpected<Error>(with.error());
  // A line whose translation was brought back is the control: what it takes, and by how much that differs from one
  // number of places to the next. Of few, which no cache loses the line to.
  std::vector<double> control;
  for (const auto& values : *with) control.push_back(low_quartile(values));
  std::vector<double> apart(control.begin(), control.begin() + static_cast<std::ptrdiff_t>((control.size() + 1) / 2));
  found.hot_cycles = change_point::median(apart);
  for (double& cycles : apart) cycles = std::fabs(cycles - found.hot_cycles);
  found.noise_cycles = std::max(0.5, normal_deviation * change_point::median(apart));
  const auto is_lost = [&](std::size_t i) { return control[i] - found.hot_cycles > least_step(found.noise_cycles); };
  std::vector<double> cycles;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (is_lost(i) && is_lost(std::min(i + 1, places.size() - 1))) break;
    cycles.push_back(low_quartile((*without)[i]) - found.hot_cycles);
    found.most = places[i];
  }
  found.by_places.label = "lower quartile of looks";
  for (std::size_t i = 0; i < cycles.size(); ++i)
    found.by_places.points.emplace_back(static_cast<double>(places[i]), cycles[i]);
  if (!cycles.empty()) found.plateaus = plateaus_of(places, cycles, found.noise_cycles);
  for (std::size_t i = 1; i < found.plateaus.size(); ++i)
    if (auto ok = choose_typical(pages, sm, found, i); !ok) return tl::unexpected<Error>(ok.error());
  const std::size_t sure = surely_in_a_row(found, places, cycles);
  found.may_hide_one = sure < found.plateaus.size();
  found.plateaus.resize(sure);
  return found;
}

namespace {

enum class Served { yes, no, unclear };

// Whether a line is served by an entry that another line brought back.
class Refill {
 public:
  Refill(Pages& pages, std::uint32_t sm, const TlbLevels& levels, std::size_t level)
      : pages_(pages),
        sm_(sm),
        drop_{levels.plateaus[level].typical, levels.plateaus[level].to},
        drop_nearer_(level > 1 ? levels.plateaus[level - 1].typical : 0) {
    least_ = least_step(levels.noise_cycles);
    step_ = levels.plateaus[level].cycles - levels.plateaus[level - 1].cycles;
  }

  // Held against the same with the line itself brought back, and with nothing.
  Expected<Served> serves(std::uint64_t line, std::uint64_t other) {
    // A second time with more others: not all sets are full with those that filled the first line's.
    for (const std::uint64_t drop : drop_) {
      auto seen = pages_.run({program(drop, other, line), program(drop, other, other), program(drop, other, {})},
                             2 * tlb_levels_looks);
      if (!seen) return tl::unexpected<Error>(seen.error());
      const double yes = change_point::median((*seen)[1]), no = change_point::median((*seen)[2]);
      if (no - yes < least_) continue;
      // The others may have pushed it out of a further level, too, whose entry covers more: that isn't this one's.
      const double served_below = yes + std::min(no - yes, step_) / 2;
      const Tally answered = fast((*seen)[0], served_below);
      served_[line][std::max(line, other) - std::min(line, other)] = answered.share();
      const Sameness s = sameness(answered, fast((*seen)[1], served_below), fast((*seen)[2], served_below));
      if (s.decided) return s.is_same() ? Served::yes : Served::no;
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
  static Tally fast(const std::vector<double>& cycles, double threshold) {
    Tally t{static_cast<double>(cycles.size()), 0};
    for (const double c : cycles) t.misses += c < threshold ? 1 : 0;
    return t;
  }

  PageProgram program(std::uint64_t drop, std::uint64_t timed, std::optional<std::uint64_t> brought_back) const {
    return [this, drop, timed, brought_back](std::uint64_t variant) {
      PageProbe probe(pages_.session().info(), {sm_});
      probe.touch(0, timed).walk(0, pages_.spread(drop, variant));
      // Another line than the one that is timed: what serves that is the entry.
      if (brought_back) probe.touch(0, neighbour_of(*brought_back));
      return probe.walk(0, pages_.spread(drop_nearer_, variant + 1)).look(timed, pages_.margin());
    };
  }

  Pages& pages_;
  std::uint32_t sm_;
  std::array<std::uint64_t, 2> drop_;
  std::uint64_t drop_nearer_;
  // Cycles that tell two levels apart; from the level before to this one.
  double least_ = 0, step_ = 0;
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
