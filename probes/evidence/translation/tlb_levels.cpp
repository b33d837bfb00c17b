#include "evidence/translation/tlb_levels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "change_point/robust.hpp"

namespace gputopo::evidence {
namespace {

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
    p.touch(0, neighbour_of(line_at)).touch(0, line_at).walk(0, pages.spread_quickly(count, variant));
    if (touches) p.touch(0, neighbour_of(line_at));
    return p.look(line_at, pages.elsewhere(variant));
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

// A look finds the line's translation in one level or in another, and what looks around a quartile say is of one: times
// between two plateaus' are of a level that shows at too few numbers of places in a row, or never in most of the looks.
// Strangers delay a quarter of the looks at one number of places now and then, and hardly ever when that is asked
// again.
Expected<std::size_t> surely_in_a_row(const TlbLevels& found, const std::vector<PlaceTime>& times,
                                      const std::function<Expected<std::vector<PlaceTime>>(std::uint64_t)>& ask) {
  for (std::size_t level = 1; level < found.plateaus.size(); ++level) {
    const Plateau &before = found.plateaus[level - 1], &next = found.plateaus[level];
    const auto is_between = [&](const PlaceTime& t) {
      const double apart = least_step(std::max(found.noise_cycles, t.error_cycles));
      return t.cycles > before.cycles + apart && t.cycles < next.cycles - apart;
    };
    std::set<std::uint64_t> between;
    for (const PlaceTime& t : times)
      if (t.places > before.from && t.places < next.to && is_between(t)) between.insert(t.places);
    for (const std::uint64_t places : between) {
      const auto again = ask(places);
      if (!again) return tl::unexpected<Error>(again.error());
      if (std::any_of(again->begin(), again->end(), is_between)) return level;
    }
  }
  return found.plateaus.size();
}

namespace {

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
  const double spread = spread_time(hot), reach = spread + 1;
  std::vector<double> control;
  for (const auto& looks : *with) control.push_back(mode_time(looks, reach).cycles);
  std::vector<double> apart(control.begin(), control.begin() + static_cast<std::ptrdiff_t>(few));
  const double near = change_point::median(apart);
  for (double& cycles : apart) cycles = std::fabs(cycles - near);
  std::sort(apart.begin(), apart.end());
  found.noise_cycles = std::max(0.5, normal_deviation * apart[apart.size() * 9 / 10]);
  const auto is_lost = [&](std::size_t i) { return control[i] - near > least_step(found.noise_cycles); };
  const auto times_after = [&](std::uint64_t count, const std::vector<double>& looks) {
    constexpr double deviations = 2.12;  // that a normal distribution's spread_time is of
    std::vector<PlaceTime> around;
    for (const double quartile : {0.25, 0.75}) {
      const ModeTime mode = mode_time(looks, reach, quartile);
      around.push_back({count, mode.cycles - near, spread / deviations / std::sqrt(static_cast<double>(mode.looks))});
    }
    return around;
  };
  std::vector<PlaceTime> times;
  std::vector<double> cycles;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (is_lost(i) && is_lost(std::min(i + 1, places.size() - 1))) break;
    const std::vector<PlaceTime> around = times_after(places[i], (*without)[i]);
    times.insert(times.end(), around.begin(), around.end());
    cycles.push_back(around.front().cycles);
    found.most = places[i];
  }
  found.by_places.label = "the lower quartile's looks";
  for (std::size_t i = 0; i < cycles.size(); ++i)
    found.by_places.points.emplace_back(static_cast<double>(places[i]), cycles[i]);
  if (!cycles.empty()) found.plateaus = plateaus_of({places, cycles, 0, found.noise_cycles, 0});
  // What is farther than a translation at hand after as few places as there are lies behind a level that wasn't seen.
  const bool begins_at_hand =
      !found.plateaus.empty() && found.plateaus.front().cycles <= least_step(found.noise_cycles);
  const auto ask = [&](std::uint64_t count) -> Expected<std::vector<PlaceTime>> {
    auto seen = looks_after(pages, sm, {count}, false);
    if (!seen) return tl::unexpected<Error>(seen.error());
    return times_after(count, seen->front());
  };
  const auto sure = begins_at_hand ? surely_in_a_row(found, times, ask) : Expected<std::size_t>(std::size_t{0});
  if (!sure) return tl::unexpected<Error>(sure.error());
  found.may_hide_one = *sure < found.plateaus.size();
  found.plateaus.resize(*sure);
  return found;
}

}  // namespace gputopo::evidence
