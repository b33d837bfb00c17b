#include "evidence/organisation/collisions.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "evidence/organisation/line_numbers.hpp"
#include "program/order.hpp"

namespace gputopo::evidence {
namespace {

using Lines = LineNumbers;

constexpr std::uint64_t most_collision_loads = 24'000'000;  // of a search: a second of a simulator, some 50 ms of a GPU
// The same past L1, one after another on one SM: a second or two of a GPU.
constexpr std::uint64_t most_loads_of_pages = 4'000'000;
constexpr std::uint64_t most_to_follow = 1 << 22;  // of one circle
constexpr std::uint64_t most_pages_to_follow = 1 << 20;
constexpr std::uint64_t few_sets = 72;  // so many are all looked at, of more a sample
constexpr std::size_t sampled_sets = 16;

class CollisionSearch {
 public:
  CollisionSearch(Circles& circles, std::uint64_t capacity) : circles_(circles), capacity_(capacity) {
    false_miss_ = circles.cache().levels.false_miss;
    const bool are_pages = circles.cache().path.slot == slot_pages;
    most_loads_ = are_pages ? most_loads_of_pages : most_collision_loads;
    most_to_follow_ = are_pages ? most_pages_to_follow : most_to_follow;
  }

  Expected<Collisions> run() {
    if (circles_.room_lines() < capacity_ + 2) {
      found_.why_open = "there isn't enough memory of this kind to overflow it";
      return std::move(found_);
    }
    const auto address = circles_.address();
    if (!address) return tl::unexpected<Error>(address.error());
    found_.address = *address;
    if (auto ok = find_first_overflow(); !ok) return tl::unexpected<Error>(ok.error());
    if (found_.why_open.empty())
      if (auto ok = settle_effort(); !ok) return tl::unexpected<Error>(ok.error());
    if (found_.why_open.empty())
      if (auto ok = find_sets(); !ok) return tl::unexpected<Error>(ok.error());
    for (auto& [lines, lost] : lost_by_length_) found_.windows.push_back({{0, lines}, lost});
    if (found_.why_open.empty())
      if (auto ok = look_far_away(); !ok) return tl::unexpected<Error>(ok.error());
    return std::move(found_);
  }

 private:
  Expected<std::vector<Losses>> walk(const std::vector<Circle>& circles) {
    auto all = circles_.walk(circles, effort_);
    for (const Circle& c : circles) found_.samples += circles_.loads_of(c, effort_);
    return all;
  }

  // Whether a circle loses any. All misses together show losses by chance, two lines that are always lost show them
  // among many strangers.
  bool overflows(const Losses& losses) const {
    return loses_any(losses, false_miss_) || lost_lines(losses, false_miss_).size() >= 2;
  }

  Expected<bool> overflows(std::uint64_t lines) {
    auto losses = walk({{0, lines}});
    if (!losses) return tl::unexpected<Error>(losses.error());
    return overflows(losses->front());
  }

  // As the size says, or earlier where an index fills the sets unevenly; or later, where the size is a range.
  Expected<void> find_first_overflow() {
    const std::uint64_t limit = std::min(circles_.room_lines() - 1, 2 * capacity_);
    for (std::uint64_t more = capacity_ + 1, fits = capacity_; more <= limit; fits = more, more += more / 8 + 1)
      for (const std::uint32_t rounds : {8U, 64U, 512U}) {
        effort_.rounds = rounds;
        if (circles_.loads_of({0, more}, effort_) > most_to_follow_) break;
        auto late = overflows(more);
        if (!late) return tl::unexpected<Error>(late.error());
        if (*late) return narrow_first_overflow(fits, more);
      }
    found_.why_open = "lines more than it holds aren't seen to be lost";
    return {};
  }

  // Between lines of which the fewer may lose some as well, and the more do.
  Expected<void> narrow_first_overflow(std::uint64_t fits, std::uint64_t more) {
    auto early = overflows(fits);
    if (!early) return tl::unexpected<Error>(early.error());
    if (*early) more = std::exchange(fits, 1);
    while (more - fits > 1) {
      const std::uint64_t middle = fits + (more - fits) / 2;
      auto is_more = overflows(middle);
      if (!is_more) return tl::unexpected<Error>(is_more.error());
      (*is_more ? more : fits) = middle;
    }
    found_.fits = fits;
    return {};
  }

  // Of what goes by chance fewer looks may not have shown that a line less is too many as well. More looks tell more of
  // strangers, too: as many as half as many lines lose, unless that is far more than were known.
  Expected<void> look_closer_at_what_fits() {
    constexpr double far_more = 2;
    const std::uint64_t fits = found_.fits;
    auto seen = walk({{0, (fits + 1) / 2}, {0, fits}});
    if (!seen) return tl::unexpected<Error>(seen.error());
    const Losses &half = seen->front(), &all = seen->back();
    const double lost =
        static_cast<double>(half.total_misses()) / static_cast<double>(std::max<std::uint64_t>(1, half.total_looks()));
    if (lost < far_more * false_miss_) false_miss_ = std::max(false_miss_, lost);
    if (overflows(all)) return narrow_first_overflow(1, fits);
    lost_by_length_[fits] = {};
    not_asked_by_length_[fits] = not_asked_of(all);
    return {};
  }

  // Looks at the first overfull set until more looks find no more lines of it.
  Expected<void> settle_effort() {
    Lines before;
    effort_.rounds = std::max(8U, effort_.rounds);
    for (; circles_.loads_of({0, found_.fits + 1}, effort_) <= most_to_follow_; effort_.rounds *= 2) {
      const Circle circle{0, found_.fits + 1};
      auto losses = walk({circle});
      if (!losses) return tl::unexpected<Error>(losses.error());
      Losses& l = losses->front();
      const Lines lost = lost_lines(l, false_miss_);
      found_.always = always_lost(l, lost, circles_.cache().levels.false_hit);
      const bool is_settled = lost.size() > 1 && lost == before;
      before = lost;
      effort_.other_orders = !found_.always;
      found_.first_overflow = std::move(l);
      if (!is_settled) continue;
      auto others = found_.always && circles_.has_other_orders() ? lost_in_other_orders(circle) : lost;
      if (!others) return tl::unexpected<Error>(others.error());
      if (!without_lines(*others, lost).empty()) {
        before = *others;
        effort_.other_orders = true;
        continue;
      }
      const std::uint64_t fits = found_.fits;
      if (auto ok = look_closer_at_what_fits(); !ok) return ok;
      if (found_.fits < fits) {
        before.clear();
        continue;
      }
      lost_by_length_[fits + 1] = lost;
      return {};
    }
    found_.why_open = "as many looks as there is time for don't settle which lines go when one too many comes";
    if (!found_.always && !before.empty())
      found_.why_open += ", which aren't lost in each round: it is neither LRU nor FIFO";
    return {};
  }

  // In one order alone a tree of bits may lose the same two lines of many in each round.
  Expected<Lines> lost_in_other_orders(const Circle& circle) {
    Effort others = effort_;
    others.other_orders = true;
    auto losses = circles_.walk(std::vector<Circle>{circle}, others);
    if (!losses) return tl::unexpected<Error>(losses.error());
    found_.samples += circles_.loads_of(circle, others);
    return lost_lines(losses->front(), false_miss_);
  }

  // Where an overfull set loses its lines always, what strangers hide now and then is none of them.
  Lines lost_of(const Losses& losses) const {
    Lines lost = lost_lines(losses, false_miss_);
    if (found_.always)
      std::erase_if(lost, [&](std::uint64_t line) {
        const std::uint64_t at = line - losses.circle.first;
        return 2 * losses.misses[at] < losses.looks[at];
      });
    return lost;
  }

  // Lines that a cache in front answered more often than not.
  static Lines not_asked_of(const Losses& losses) {
    const std::uint64_t all = losses.circle.lines == 0 ? 0 : losses.loads / losses.circle.lines;
    Lines lines;
    for (std::uint64_t line = 0; line < losses.circle.lines; ++line)
      if (2 * losses.looks[line] < all) lines.push_back(losses.circle.first + line);
    return lines;
  }

  // What each of the lengths loses; all that aren't known yet at once.
  Expected<void> look_at(const std::set<std::uint64_t>& lengths) {
    std::vector<Circle> circles;
    for (const std::uint64_t lines : lengths)
      if (!lost_by_length_.contains(lines)) circles.push_back({0, lines});
    if (circles.empty()) return {};
    auto all = walk(circles);
    if (!all) return tl::unexpected<Error>(all.error());
    for (const Losses& losses : *all) {
      lost_by_length_[losses.circle.lines] = lost_of(losses);
      not_asked_by_length_[losses.circle.lines] = not_asked_of(losses);
    }
    if (found_.samples > most_loads_) found_.why_open = "it takes too long to look at its sets one by one";
    return {};
  }

  // The set that line `last` overflows: what a circle that ends with it loses and the one before it doesn't.
  void add_set(std::uint64_t last) {
    Lines fresh = without_lines(lost_by_length_[last + 1], lost_by_length_[last]);
    if (fresh.size() < 2) return;
    // Nor do sets overflow one by one where a line more pushes others out of a cache in front, which come to theirs
    // then.
    const Lines& not_asked = not_asked_by_length_[last];
    if (without_lines(fresh, not_asked).size() != fresh.size()) {
      found_.why_open = "a cache in front goes on answering some lines, and loses several at once";
      return;
    }
    found_.held_lines += fresh.size() - 1;
    found_.sets.push_back(std::move(fresh));
    if (found_.held_lines > capacity_ + capacity_ / 4)
      found_.why_open = "what one line more pushes out isn't one set: the sets found hold more than the cache";
  }

  Expected<void> find_sets() {
    add_set(found_.fits);
    if (!found_.why_open.empty()) return {};
    const std::uint64_t set_lines = found_.sets.empty() ? 0 : found_.sets.front().size();
    if (set_lines < 2) {
      found_.why_open = "a line more than it holds takes no other's place";
      return {};
    }
    return capacity_ / (set_lines - 1) <= few_sets ? find_all_sets() : sample_sets(capacity_ / (set_lines - 1));
  }

  // Narrows every stretch of lengths over which something else than its own lines begins to be lost.
  Expected<void> find_all_sets() {
    const std::uint64_t end = std::min(circles_.room_lines(), 2 * capacity_ + few_sets);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> stretches{{found_.fits + 1, end}};
    if (auto ok = look_at({end}); !ok) return ok;
    while (!stretches.empty() && found_.why_open.empty()) {
      std::vector<std::pair<std::uint64_t, std::uint64_t>> next;
      std::set<std::uint64_t> lengths;
      for (const auto& [low, high] : stretches) {
        const Lines fresh = without_lines(lost_by_length_[high], lost_by_length_[low]);
        if (fresh.empty() || fresh.front() >= low) continue;  // lines of sets that overflowed before
        if (high - low == 1) {
          add_set(low);
          continue;
        }
        const std::uint64_t middle = low + (high - low) / 2;
        lengths.insert(middle);
        next.insert(next.end(), {{low, middle}, {middle, high}});
      }
      if (auto ok = look_at(lengths); !ok) return ok;
      stretches = std::move(next);
    }
    const Lines& all = lost_by_length_[end];
    found_.complete = all.size() == end;
    return {};
  }

  // Those that some of the next lines overflow, the first few and others anywhere.
  Expected<void> sample_sets(std::uint64_t sets) {
    std::set<std::uint64_t> lasts;
    for (std::uint64_t i = 1; i <= 4; ++i) lasts.insert(found_.fits + i);
    const auto order = program::stepping(program::Order::shuffled, 1, sets);
    std::uint64_t at = order.first;
    for (std::size_t i = 0; i < sampled_sets; ++i, at = program::advance(at, order.step, sets))
      if (found_.fits + at + 2 < circles_.room_lines()) lasts.insert(found_.fits + at);
    for (const std::uint64_t last : lasts) {
      if (auto ok = look_at({last, last + 1}); !ok) return ok;
      if (!found_.why_open.empty()) {
        if (found_.sets.size() >= sampled_sets / 2) found_.why_open.clear();
        return {};
      }
      if (last != found_.fits) add_set(last);
    }
    return {};
  }

  // Across the places where a higher bit of the line's number changes: an index may take those as well. Several for
  // each bit, so that one says what the bit does and the others whether it does that always.
  Expected<void> look_far_away() {
    std::vector<Circle> far;
    const Circle first{0, found_.fits + 1};
    for (std::uint64_t bit = 1; bit < circles_.room_lines(); bit *= 2)
      for (const std::uint64_t times : {1U, 3U, 5U, 7U})
        if (bit * times > found_.fits && bit * times + found_.fits / 2 + 2 < circles_.room_lines() &&
            bit * 2 > found_.fits)
          far.push_back({bit * times - first.lines / 2, first.lines});
    for (const Circle& circle : far) {
      if (found_.samples > most_loads_) break;
      auto losses = walk({circle});
      if (!losses) return tl::unexpected<Error>(losses.error());
      found_.windows.push_back({circle, lost_of(losses->front())});
    }
    return {};
  }

  Circles& circles_;
  std::uint64_t capacity_;
  std::uint64_t most_loads_, most_to_follow_;
  double false_miss_;
  Effort effort_;
  Collisions found_;
  std::map<std::uint64_t, Lines> lost_by_length_, not_asked_by_length_;  // of circles from the first line on
};

}  // namespace

Expected<Collisions> find_collisions(Circles& circles, std::uint64_t capacity_lines) {
  return CollisionSearch(circles, capacity_lines).run();
}

}  // namespace gputopo::evidence
