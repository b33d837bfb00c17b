#include "evidence/organisation/eviction_sets.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "evidence/organisation/line_numbers.hpp"

namespace gputopo::evidence {
namespace {

constexpr std::size_t most_colliding = 1024;  // each is a phase of every round
constexpr std::uint64_t most_eviction_loads =
    100'000'000;  // that go by without a set: some seconds of a simulator or a GPU

class EvictionSearch {
 public:
  EvictionSearch(Session& session, const EvictedCache& cache, const Rounds& rounds) : look_(session, cache, rounds) {}

  Expected<EvictionSets> run(std::size_t count) {
    double goal = is_by_order() ? lost_in_order : lost_by_chance;
    for (; found_.sets.empty() && found_.why_open.empty(); goal *= 2) {
      for (std::size_t place = 0; place < places && is_worth_it(place, count); ++place)
        if (auto ok = take_apart(place, goal, count - found_.sets.size()); !ok)
          return tl::unexpected<Error>(ok.error());
      // What isn't lost in each round calls for more of them.
      if (is_by_order()) break;
      if (look_.loads() > most_eviction_loads)
        found_.why_open = "sets that don't lose all lines in each round take too long";
    }
    found_.rounds = look_.rounds();
    found_.samples = look_.samples();
    if (!found_.sets.empty())
      found_.why_open.clear();
    else if (found_.why_open.empty())
      found_.why_open = "no few of the lines that get lost push one another out such that without any one none goes";
    return std::move(found_);
  }

 private:
  bool is_by_order() const { return look_.rounds().programs > 1; }

  // Another place, where there aren't sets enough yet: of long rounds only if the first one had any.
  bool is_worth_it(std::size_t place, std::size_t count) const {
    const bool had_any = place == 0 || is_by_order() || !found_.sets.empty();
    return had_any && 2 * found_.sets.size() <= count && found_.why_open.empty();
  }

  double lost_of(const Evicted& e) const { return is_by_order() ? e.always_lost() : e.lost_in_a_round(); }

  // What a circle's last lines lose in a round that it is shortened to.
  static constexpr double lost_in_order = 16, lost_by_chance = 1;
  static constexpr std::size_t places = 2;  // of the memory, one after the other until there are sets enough

  std::uint64_t longest() const { return std::min(look_.room_lines() / places, 2 * look_.cache().capacity_lines); }

  // The shortest circle from `first` on of more than `fits` lines, to `finest`, that loses as many as is asked of a
  // sample.
  template <typename Loses>
  Expected<std::uint64_t> shortest(std::uint64_t first, std::uint64_t fits, std::uint64_t more, std::uint64_t finest,
                                   Loses&& loses) {
    while (more - fits > finest) {
      const std::uint64_t lines = fits + (more - fits) / 2;
      auto sample = look_.sample_of(first, lines, is_by_order() ? few_rounds : some_rounds);
      if (!sample) return tl::unexpected<Error>(sample.error());
      (loses(*sample) ? more : fits) = lines;
    }
    return more;
  }

  // A circle that loses some: the shortest of which a sample shows it, since an index may fill some sets long before
  // others; then the next one whose last lines are lost as well, which overflowed one after the other. Between them may
  // lie many of which a single set is overfull, as one is into which a line of somebody else's comes.
  Expected<std::uint64_t> overfull_circle(std::uint64_t first, double goal) {
    constexpr std::uint64_t at_the_end = 1024, steps = 1 << 12;
    const auto any_of = [&](const Evictions::Sample& s) { return lost_of(s.spread) > 0 || lost_of(s.last) > 0; };
    const auto goal_of = [&](const Evictions::Sample& s) { return lost_of(s.last) >= goal; };
    auto all = look_.sample_of(first, longest(), is_by_order() ? few_rounds : some_rounds);
    if (!all) return tl::unexpected<Error>(all.error());
    if (longest() <= look_.cache().capacity_lines)
      found_.why_open = "there is no room for a stretch that pushes everything out";
    else if (!any_of(*all))
      found_.why_open = "lines stay though far more was walked than is held";
    if (!found_.why_open.empty()) return 0;
    auto lines = shortest(first, 0, longest(), longest() / steps + 1, any_of);
    if (!lines || *lines == longest()) return lines;
    std::uint64_t fits = *lines - std::min(*lines, at_the_end), more = *lines;
    for (std::uint64_t further = at_the_end; more < longest(); further *= 2) {
      auto sample = look_.sample_of(first, more, is_by_order() ? few_rounds : some_rounds);
      if (!sample) return tl::unexpected<Error>(sample.error());
      if (goal_of(*sample)) break;
      fits = more;
      more = std::min(more + further, longest());
    }
    return shortest(first, fits, more, 4, goal_of);
  }

  // Lines of that circle that may be lost: in each look where sets go by order, else a few that aren't are among
  // them. Where they are too many, of a shorter one: of sets of fewer ways than this the last lines lost each overflow
  // one.
  Expected<LineNumbers> colliding_lines(std::uint64_t first, std::uint64_t lines) {
    const double few = is_by_order() ? 0 : 32;
    constexpr std::size_t most_ways = 32;
    const int times = is_by_order() ? 4 : 1;  // long rounds take too long to be made again
    for (int i = 0; i < times; ++i) {
      auto seen = look_.of_circle(first, lines);
      if (!seen) return tl::unexpected<Error>(seen.error());
      LineNumbers lost;
      for (const std::size_t place : seen->lost(few)) lost.push_back(first + place);
      if (lost.size() <= most_colliding) return lost;
      lines = lost[lost.size() - lost.size() / most_ways] - first;
    }
    return LineNumbers();
  }

  // For each of some lines: what is lost of the lines up to it and isn't of those before it.
  Expected<std::vector<LineNumbers>> lost_by(const LineNumbers& lines, const LineNumbers& each) {
    constexpr double few = 1;
    std::vector<LineNumbers> lists;
    for (const std::uint64_t line : each) {
      const auto at = std::lower_bound(lines.begin(), lines.end(), line);
      lists.insert(lists.end(), {LineNumbers(lines.begin(), at + 1), LineNumbers(lines.begin(), at)});
    }
    auto seen = look_.of_lists(lists);
    if (!seen) return tl::unexpected<Error>(seen.error());
    std::vector<LineNumbers> lost(lists.size());
    for (std::size_t i = 0; i < lists.size(); ++i)
      for (const std::size_t place : (*seen)[i].lost(is_by_order() ? 0 : few)) lost[i].push_back(lists[i][place]);
    std::vector<LineNumbers> by;
    for (std::size_t i = 0; i < each.size(); ++i) by.push_back(without_lines(lost[2 * i], lost[2 * i + 1]));
    return by;
  }

  // Those without which nothing is lost are a set; where any other is left, they are looked at again by themselves.
  Expected<std::optional<EvictionSet>> set_among(LineNumbers lines) {
    constexpr int times = 3;
    for (int i = 0; i < times && lines.size() > 1; ++i) {
      std::vector<LineNumbers> lists{lines};
      for (std::size_t place = 0; place < lines.size(); ++place) lists.push_back(without_lines(lines, {lines[place]}));
      auto seen = look_.of_lists(lists);
      if (!seen) return tl::unexpected<Error>(seen.error());
      EvictionSet set;
      const Evicted& all = seen->front();
      if (lost_of(all) == 0) return std::nullopt;
      set.all_lose = all.in_a_round();
      for (std::size_t place = 0; place < lines.size(); ++place) {
        const Evicted& others = (*seen)[1 + place];
        // One that is lost by itself, time after time, is slow and no line of a set of one way.
        const bool lose_all_the_same = others.least == others.misses.size();
        if (lost_of(others) != 0 || lose_all_the_same) continue;
        set.lines.push_back(lines[place]);
        set.lose_without_one.push_back(others.in_a_round());
      }
      // Where a line of the kernel's comes to the set as well, it isn't all of what its own lines lose.
      const bool loses_all = all.least == lines.size();
      if (set.lines.size() == lines.size()) return is_by_order() && !loses_all ? std::nullopt : std::optional(set);
      lines = std::move(set.lines);
    }
    return std::nullopt;
  }

  // Up to `count` sets of the shortest circle at one of the places that loses so many.
  Expected<void> take_apart(std::size_t place, double goal, std::size_t count) {
    const std::uint64_t first = (look_.room_lines() - longest()) / (places - 1) * place;
    auto circle = overfull_circle(first, goal);
    if (!circle) return tl::unexpected<Error>(circle.error());
    if (!found_.why_open.empty()) return {};
    auto colliding = colliding_lines(first, *circle);
    if (!colliding) return tl::unexpected<Error>(colliding.error());
    // The last ones are the first too many of their sets, most likely. But what others load now and then comes to many
    // full sets in the time that a circle takes, and in the short one of these lists to few: of sets that go by order
    // as many are asked as take no longer than it did to find the circle.
    constexpr int times = 4;
    const std::uint64_t enough_loads = 2 * look_.loads();
    LineNumbers lines = std::move(*colliding), left = lines;
    const auto may_ask = [&](int time) { return time < times || (is_by_order() && look_.loads() < enough_loads); };
    for (int i = 0; may_ask(i) && count > 0 && left.size() > 1; ++i) {
      const std::size_t tries = std::min(2 * count, left.size() - 1);
      const LineNumbers each(left.end() - static_cast<std::ptrdiff_t>(tries), left.end());
      left.resize(left.size() - tries);
      auto lost = lost_by(lines, each);
      if (!lost) return tl::unexpected<Error>(lost.error());
      for (std::size_t k = 0; k < each.size() && count > 0; ++k) {
        if (!std::binary_search(lines.begin(), lines.end(), each[k])) continue;  // of a set found meanwhile
        auto set = set_among((*lost)[k]);
        if (!set) return tl::unexpected<Error>(set.error());
        if (!*set) continue;
        lines = without_lines(lines, (*set)->lines);
        left = without_lines(left, (*set)->lines);
        found_.sets.push_back(std::move(**set));
        --count;
      }
    }
    return found_.sets.empty() || place != 0 ? Expected<void>() : add_spread(first, *circle);
  }

  // Which sets the first lines too many come to is the index's doing, and may be one kind of them. Of a longer stretch
  // each set loses lines: the sets of some lines all over it, by where the line comes that is one too many. Of a large
  // cache that takes too long.
  Expected<void> add_spread(std::uint64_t first, std::uint64_t circle) {
    constexpr std::size_t some = 6;
    constexpr std::uint64_t most_lines = 1 << 14;
    const std::uint64_t longer = std::min(longest(), circle + circle / 2);
    if (longer > most_lines || longer <= circle) return {};
    LineNumbers lines;
    for (std::uint64_t line = 0; line < longer; ++line) lines.push_back(first + line);
    const double few = is_by_order() ? 0 : 1;
    auto all = look_.of_lists(std::vector<LineNumbers>{lines});
    if (!all) return tl::unexpected<Error>(all.error());
    const std::vector<std::size_t> lost = all->front().lost(few);
    struct Search {
      std::size_t place, fits, more;  // lines up to `fits` hold it, up to `more` they don't
    };
    std::vector<Search> searches;
    for (std::size_t i = 0; i < std::min(some, lost.size()); ++i) {
      const std::size_t place = lost[i * lost.size() / std::min(some, lost.size())];
      searches.push_back({place, place, lines.size()});
    }
    const auto is_open = [](const Search& s) { return s.more - s.fits > 1; };
    while (std::any_of(searches.begin(), searches.end(), is_open)) {
      std::vector<LineNumbers> lists;
      for (const Search& s : searches)
        lists.emplace_back(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>((s.fits + s.more + 1) / 2));
      auto seen = look_.of_lists(lists);
      if (!seen) return tl::unexpected<Error>(seen.error());
      for (std::size_t i = 0; i < searches.size(); ++i) {
        Search& s = searches[i];
        const std::vector<std::size_t> gone = (*seen)[i].lost(few);
        if (is_open(s)) (std::ranges::binary_search(gone, s.place) ? s.more : s.fits) = lists[i].size();
      }
    }
    LineNumbers each;
    for (const Search& s : searches) each.push_back(lines[s.more - 1]);
    std::ranges::sort(each);
    each.erase(std::unique(each.begin(), each.end()), each.end());
    auto by = lost_by(lines, each);
    if (!by) return tl::unexpected<Error>(by.error());
    for (const LineNumbers& of_one : *by) {
      auto set = set_among(of_one);
      if (!set) return tl::unexpected<Error>(set.error());
      const auto is_same = [&](const EvictionSet& s) { return *set && s.lines.front() == (*set)->lines.front(); };
      if (*set && std::ranges::none_of(found_.sets, is_same)) found_.sets.push_back(std::move(**set));
    }
    return {};
  }

  Evictions look_;
  EvictionSets found_;
};

}  // namespace

Expected<EvictionSets> find_eviction_sets(Session& session, const EvictedCache& cache, std::size_t count) {
  constexpr std::uint64_t most_lines = 1 << 16;  // some seconds of a GPU or a simulator
  auto found = EvictionSearch(session, cache, few_rounds).run(count);
  if (!found || found->sets.size() > 1) return found;
  if (cache.capacity_lines <= most_lines) return EvictionSearch(session, cache, many_rounds).run(count);
  found->sets.clear();
  found->why_open = "lines of an overfull set aren't lost in each round, and so many take too long to look at for more";
  return found;
}

}  // namespace gputopo::evidence
