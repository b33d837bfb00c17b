#include "evidence/memory/fetched_ahead.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "evidence/inference/curves.hpp"
#include "evidence/looks/structure.hpp"

namespace gputopo::evidence {
namespace {

constexpr std::string_view ahead_method = "cold_runs";

struct Share {
  double of = 0, loads = 1;
};

Share share_of(std::uint64_t hits, std::uint64_t loads) {
  // Laplace's rule, so that no share is certain because few loads were seen.
  return {(static_cast<double>(hits) + 0.5) / (static_cast<double>(loads) + 1), static_cast<double>(loads) + 1};
}

bool more_than_by_chance(const Share& a, const Share& b) {
  constexpr double sigmas = 4;
  const auto variance = [](const Share& s) { return s.of * (1 - s.of) / s.loads; };
  return a.of - b.of > sigmas * std::sqrt(variance(a) + variance(b));
}

// By one in twenty at least, as many loads as are a stranger's (docs/domain.md), and not by chance.
bool more(const Share& a, const Share& b) {
  constexpr double least = 0.05;
  return a.of - b.of > least && more_than_by_chance(a, b);
}

// What one stride says.
struct SeenAtStride {
  bool ahead = false;     // one order hits more often than another
  bool at_once = false;   // and there a run's second load does
  bool a_few = false;     // or does so by however little, but not by chance
  bool together = false;  // every order hits alike
};

SeenAtStride seen_at(const StrideHits& s) {
  const Share first = share_of(s.first_hits, s.firsts);
  const Share shuffled = share_of(s.shuffled.hits, s.shuffled.loads);
  const auto of = [](const RunHits& h) { return share_of(h.hits, h.loads); };
  SeenAtStride seen;
  for (const auto& [own, other] : {std::pair{&s.forward, &s.reverse}, std::pair{&s.reverse, &s.forward}}) {
    seen.a_few = seen.a_few || more_than_by_chance(of(*own), shuffled) || more_than_by_chance(of(*own), of(*other));
    if (!more(of(*own), shuffled) && !more(of(*own), of(*other))) continue;
    seen.ahead = true;
    // What one fetch brings is there for a run's second load in either direction.
    const Share second = share_of(own->second_hits, own->seconds);
    seen.at_once = seen.at_once || (more(second, first) && more(second, share_of(other->second_hits, other->seconds)));
  }
  seen.together = !seen.ahead && (more(of(s.forward), first) || more(of(s.reverse), first) || more(shuffled, first));
  return seen;
}

// What hits in one order is there once all rows were closed, or isn't.
enum class Ahead { fetched, open_rows, unknown };

Ahead ahead_of(const StrideHits& s) {
  if (!s.after_closing || !s.after_closing->is_kept()) return Ahead::unknown;
  const AfterClosing& after = *s.after_closing;
  const Share below = share_of(after.below_hits, after.loads);
  const Share forward = share_of(after.forward_hits, after.loads), reverse = share_of(after.reverse_hits, after.loads);
  // What is there beside lines that nothing fetched was fetched, whether rows are closed or not.
  if (more(forward, below) || more(reverse, below)) return Ahead::fetched;
  if (!after.are_rows_closed()) return Ahead::unknown;
  // Those that hit more often than by chance, but not once rows were closed.
  const auto went = [&](const RunHits& in_order, const Share& closed) {
    const Share open = share_of(in_order.hits, in_order.loads);
    return !more(open, share_of(s.shuffled.hits, s.shuffled.loads)) || more(open, closed);
  };
  return went(s.forward, forward) && went(s.reverse, reverse) ? Ahead::open_rows : Ahead::unknown;
}

std::string bytes_text(std::uint64_t bytes) {
  return bytes % 1024 == 0 ? fmt::format("{} KiB", bytes / 1024) : fmt::format("{} B", bytes);
}

std::string between_text(std::uint64_t least, std::uint64_t most) {
  return least == most ? bytes_text(least) : fmt::format("{} to {}", bytes_text(least), bytes_text(most));
}

}  // namespace

bool AfterClosing::are_rows_closed() const {
  constexpr double hardly_any = 0.05;  // as many loads as are a stranger's
  return static_cast<double>(below_hits) <= hardly_any * static_cast<double>(loads);
}

bool AfterClosing::is_kept() const {
  constexpr double nearly_all = 0.9;
  return static_cast<double>(loaded_hits) >= nearly_all * static_cast<double>(loads);
}

bool depends_on_order(const StrideHits& hits) {
  return seen_at(hits).ahead;
}

Statement fetched_ahead(std::span<const StrideHits> strides) {
  std::vector<std::uint64_t> alone, ahead, open_rows;  // strides
  std::uint64_t together = 0, loads = 0, hits = 0;
  bool at_once = false, is_unknown = false, hit_a_few = false;
  for (const StrideHits& s : strides) {
    const SeenAtStride seen = seen_at(s);
    const Ahead what = seen.ahead ? ahead_of(s) : Ahead::fetched;
    is_unknown = is_unknown || what == Ahead::unknown;
    if (what == Ahead::open_rows) open_rows.push_back(s.stride_bytes);
    if (what != Ahead::fetched) continue;
    if (seen.together) {
      together = std::max(together, s.stride_bytes);
      continue;
    }
    hit_a_few = hit_a_few || seen.a_few;
    (seen.ahead ? ahead : alone).push_back(s.stride_bytes);
    at_once = at_once || seen.at_once;
    for (const RunHits* h : {&s.forward, &s.reverse}) loads += h->loads, hits += h->hits;
  }
  std::string of_one_fetch;
  if (together != 0)
    of_one_fetch =
        fmt::format("; loads {} apart hit in any order, so that one fetch brings both", bytes_text(together));
  if (!open_rows.empty())
    of_one_fetch += fmt::format("; with strides of {} loads in order are as fast only while a row is open",
                                between_text(open_rows.front(), open_rows.back()));
  if (!ahead.empty()) {
    Statement s = decided(at_once ? "next_line" : "stride", ahead_method, loads);
    s.note = fmt::format("cold runs with strides of {} hit in order and not out of it{}",
                         between_text(ahead.front(), ahead.back()), of_one_fetch);
    return s;
  }
  if (is_unknown)
    return undecided(ahead_method, "loads in order are faster, and what was fetched can't be told from an open row");
  if (hit_a_few)
    return undecided(ahead_method, "a few loads hit in order and hardly any out of it: too few to tell why");
  if (alone.empty() && !open_rows.empty())
    return undecided(ahead_method, "loads of every stride are faster in order, while a row is open");
  if (alone.empty())
    return undecided(ahead_method, together == 0 ? "no stride's hits can be told from misses"
                                                 : "loads of every stride hit in any order");
  Statement s = decided("none", ahead_method, loads);
  s.note = fmt::format("{} of {} loads in order hit, with strides of {}{}", hits, loads,
                       between_text(alone.front(), alone.back()), of_one_fetch);
  return s;
}

DecidingCurve curve_of(std::span<const StrideHits> strides, std::string_view memory) {
  DecidingCurve curve = make_curve(memory, "prefetch", {"bytes from load to load", "B", true},
                                   {"share of cold loads that hit", "", false});
  curve.series = {{"forward", {}}, {"reverse", {}}, {"shuffled", {}}, {"a run's first load (control)", {}}};
  for (const StrideHits& s : strides) {
    const auto add = [&](std::size_t i, std::uint64_t hits, std::uint64_t loads) {
      curve.series[i].points.emplace_back(
          static_cast<double>(s.stride_bytes),
          static_cast<double>(hits) / static_cast<double>(std::max<std::uint64_t>(1, loads)));
    };
    add(0, s.forward.hits, s.forward.loads);
    add(1, s.reverse.hits, s.reverse.loads);
    add(2, s.shuffled.hits, s.shuffled.loads);
    add(3, s.first_hits, s.firsts);
  }
  return curve;
}

}  // namespace gputopo::evidence
