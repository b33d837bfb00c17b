#include "experiments/tlb_entries.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

#include "change_point/robust.hpp"
#include "evidence/held/agreed_size.hpp"
#include "evidence/inference/curves.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/inference/vote.hpp"
#include "evidence/organisation/replacement.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;

constexpr std::string_view tlb_entries_method = "page_circles";
// Of loads that fit: strangers' and those that wait come to less.
constexpr double may_be_lost = 0.125;
constexpr std::size_t replicates_of_a_circle = 2;

// Lines of the largest circle, of which surely some are lost.
std::uint64_t most_walked(const TlbLevel& level) {
  return 3 * level.lost_from + 16;
}

// Lines an entry apart, and `lines_on` of the L2 further each time, so that they don't crowd a few of its sets, as long
// as each still lies in an entry of its own. Without that step they may take all that lies between them of the L2.
PageLayout layout_of(const TlbLevel& level, const Pages& pages, std::uint64_t lines_on) {
  const std::uint64_t entry = level.entry.bytes;
  const std::uint64_t own_lines = std::min(level.entry.first_border, entry) / pages.line_bytes();
  const std::uint64_t stepping = (own_lines - std::min(own_lines, LineTimes::variants)) / lines_on;
  const std::uint64_t plain =
      level.l2_bytes == 0 ? std::numeric_limits<std::uint64_t>::max() : level.l2_bytes / 2 / entry;
  const bool steps = stepping >= plain || stepping > 4 * level.lost_from;
  PageLayout layout;
  layout.stride_bytes = entry + (steps ? lines_on * pages.line_bytes() : 0);
  layout.most_lines = std::min({steps ? stepping : plain, pages.bytes() / layout.stride_bytes - 1, pages.most()});
  return layout;
}

// The largest circle, and then looks at some of its lines, each right after another line of its entry
// and once more behind that.
program::Program looks_at_translated(Pages& pages, const PageLayout& layout, std::uint64_t lines, std::uint64_t looks,
                                     std::uint32_t sm) {
  program::Program p = make_program(fmt::format("{} lines {} B apart, translated", lines, layout.stride_bytes),
                                    pages.session().info(), slot_pages);
  p.isolation = Scope::gpu;
  p.agents = {{sm, 0}};
  p.phases = {make_walk(pages_path, lines * layout.stride_bytes, layout.stride_bytes, 3)};
  for (std::uint64_t i = 0; i < looks; ++i) {
    program::Walk neighbour = make_walk(pages_path, 4, 4, 1);
    const std::uint64_t at = i * lines / looks * layout.stride_bytes;
    neighbour.first_byte = neighbour_of(at);
    program::Walk look = recorded(neighbour, program::Record::latencies, 1);
    look.first_byte = at;
    p.phases.insert(p.phases.end(), {neighbour, look, look});
  }
  return p;
}

// Whether the L2 loses lines of such a circle: steps that an index folds onto each other crowd a few of its sets. By
// how many more of the first looks are late than of the second: a few cycles, which a near TLB costs, either is by
// chance.
Expected<bool> crowd_the_l2(Pages& pages, const TlbLevel& level, const PageLayout& layout, std::uint32_t sm) {
  constexpr std::uint64_t most_looks = 32;
  const std::uint64_t lines = std::min(layout.most_lines, most_walked(level));
  const std::uint64_t looks = std::min(lines, most_looks);
  if (looks == 0) return false;
  auto traces = pages.session().run(program::Batch(2, looks_at_translated(pages, layout, lines, looks, sm)));
  if (!traces) return tl::unexpected<Error>(traces.error());
  const double later = (level.lost_cycles - level.in_front_cycles) / 2;
  double lost = 0;
  for (const program::ProgramTrace& trace : *traces)
    for (std::uint64_t i = 0; i < looks; ++i) {
      const double first = trace.phases[3 * i + 2].latencies.back(), again = trace.phases[3 * i + 3].latencies.back();
      lost += first > again + later ? 1 : again > first + later ? -1 : 0;
    }
  return lost > may_be_lost * static_cast<double>(traces->size() * looks);
}

CacheFacts page_facts(const TlbLevel& level, std::string_view id, const PageLayout& layout, LineTimes& times) {
  CacheFacts facts;
  facts.path = pages_path;
  facts.path.id = id;
  facts.present = true;
  facts.line_bytes = layout.stride_bytes;
  facts.room_lines = layout.most_lines;
  facts.line_times = &times;
  facts.warm_laps = 2;
  facts.levels.threshold_cycles = (level.in_front_cycles + level.lost_cycles) / 2;
  facts.levels.doubt = 0;
  facts.front_threshold_cycles = level.number > 1 ? level.in_front_cycles / 2 : std::numeric_limits<double>::lowest();
  return facts;
}

}  // namespace

Expected<std::optional<PageLayout>> page_layout(Pages& pages, const TlbLevel& level, std::uint32_t sm) {
  // An index that takes bits of an address as they are, or two such fields XORed, folds a step of one onto a power of
  // two, and no odd one beside it.
  for (const std::uint64_t lines_on : {1, 3, 5}) {
    const PageLayout layout = layout_of(level, pages, lines_on);
    auto crowd = crowd_the_l2(pages, level, layout, sm);
    if (!crowd) return tl::unexpected<Error>(crowd.error());
    if (!*crowd) return std::optional(layout);
  }
  return std::optional<PageLayout>();
}

TlbEntries::TlbEntries(Pages& pages, std::string_view id, const TlbLevel& level, const PageLayout& layout,
                       std::uint32_t sm)
    : pages_(pages),
      level_(level),
      most_lines_(layout.most_lines),
      times_(pages.session(), pages_path, layout.stride_bytes, pages.line_bytes(), sm),
      facts_(page_facts(level, id, layout, times_)),
      circles_(pages.session(), facts_, Scope::gpu) {}

std::uint64_t TlbEntries::fewest_lines() const {
  return level_.in_front + level_.in_front / 4 + 2;
}

// Of loads of circles that fit, as walks time them, those that were late by as much as tells a miss here from one of
// the level before, and those that were early by as much. What a load waits goes by all that came before it: of half as
// many lines as were kept, or of fewer where so many of these are late that they may be lost (a tree of bits loses as
// few as its levels, from some states on).
Expected<void> TlbEntries::learn_strangers() {
  constexpr std::uint64_t many = 16;
  const double late = facts_.levels.threshold_cycles - level_.in_front_cycles;
  for (std::uint64_t lines = std::max(fewest_lines(), std::min(level_.kept_to / 2, many));;
       lines = std::max(fewest_lines(), lines / 2)) {
    if (auto ok = time_fitting(lines); !ok) return ok;
    facts_.levels.false_miss = share_of_fitting([&](double c) { return c >= late; });
    if (facts_.levels.false_miss < may_be_lost || lines == fewest_lines()) break;
  }
  const double early = facts_.levels.threshold_cycles - level_.lost_cycles;
  facts_.levels.false_hit = share_of_fitting([&](double c) { return c < early; });
  facts_.levels.hit = {{0, fitting_.size()}};
  return {};
}

// Circles of so many lines, of those that larger circles are walked over: each waits in its own way.
Expected<void> TlbEntries::time_fitting(std::uint64_t lines) {
  const std::uint64_t enough_lines = std::min<std::uint64_t>(2 * level_.lost_from, 256);
  fitting_.clear();
  fitting_by_circle_.clear();
  for (std::uint64_t first = 0; first < enough_lines && first + lines <= most_lines_; first += lines) {
    auto cycles = time_circle({first, lines});
    if (!cycles) return tl::unexpected<Error>(cycles.error());
    Tally& circle = fitting_by_circle_.emplace_back();
    for (const double c : *cycles) {
      if (c < facts_.front_threshold_cycles) continue;
      fitting_.push_back(c - level_.in_front_cycles);
      circle += {1, c >= facts_.levels.threshold_cycles ? 1.0 : 0.0};
    }
  }
  return {};
}

// By how much more late loads differ from circle to circle than by chance (Pearson's chi-squared over its degrees of
// freedom): lines wait alike each time that they come by.
double TlbEntries::scatter_of_fitting() const {
  Tally all;
  for (const Tally& circle : fitting_by_circle_) all += circle;
  const double p = all.share();
  if (fitting_by_circle_.size() < 2 || p <= 0 || p >= 1) return 1;
  double chi_squared = 0;
  for (const Tally& circle : fitting_by_circle_)
    if (circle.loads > 0) chi_squared += std::pow(circle.misses - p * circle.loads, 2) / (circle.loads * p * (1 - p));
  return std::max(1.0, chi_squared / static_cast<double>(fitting_by_circle_.size() - 1));
}

double TlbEntries::share_of_fitting(const std::function<bool(double)>& is_one) const {
  const auto count = std::count_if(fitting_.begin(), fitting_.end(), is_one);
  return (static_cast<double>(count) + 1) / (static_cast<double>(fitting_.size()) + 2);
}

Expected<Counts> TlbEntries::count(const std::vector<RowRequest>& rows, std::size_t replicates) {
  constexpr std::uint64_t enough_looks = 512;
  Counts counts;
  for (const RowRequest& row : rows) {
    const Circle circle{0, row.footprint_bytes / level_.entry.bytes};
    Effort effort;
    effort.rounds = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(enough_looks / circle.lines, 2, 8));
    effort.rounds *= row.patience;
    for (std::size_t i = 0; i < replicates; ++i) {
      auto losses = circles_.walk(std::vector<Circle>{circle}, effort);
      if (!losses) return tl::unexpected<Error>(losses.error());
      const Losses& seen = losses->front();
      // What the level before answers all by itself isn't lost from this one.
      const std::uint64_t looks = seen.total_looks() == 0 ? seen.loads : seen.total_looks();
      counts.push_back({static_cast<double>(row.footprint_bytes), looks, seen.total_misses(), launch_++,
                        seen.loads - seen.total_looks()});
    }
  }
  return counts;
}

Expected<FittingEntries> TlbEntries::fitting() {
  SearchSpec spec;
  spec.count = [&](const auto& rows, std::size_t replicates) { return count(rows, replicates); };
  spec.unit_bytes = level_.entry.bytes;
  // Fewer lines than the level before holds say nothing of this one.
  spec.first_bytes = fewest_lines() * level_.entry.bytes;
  spec.limit_bytes = std::min(most_lines_, most_walked(level_)) * level_.entry.bytes;
  spec.rows = 24;
  spec.replicates = replicates_of_a_circle;
  // What replaces at random settles slowly. Of many entries each repetition takes a second, and what their sets hold is
  // told by growing circles as well.
  constexpr std::uint64_t lines_walked_patiently = 4096;
  spec.most_patience =
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>(lines_walked_patiently / level_.lost_from, 2, 64));
  spec.narrows_to_the_last = false;
  spec.keeps_first_walks = false;
  spec.memory = facts_.path.id;
  if (spec.first_bytes + 2 * spec.unit_bytes > spec.limit_bytes)
    return FittingEntries{
        inconclusive("B", tlb_entries_method,
                     "so few lines, each in an entry of its own, can be touched that it holds them all"),
        0};
  if (auto ok = learn_strangers(); !ok) return tl::unexpected<Error>(ok.error());
  if (facts_.levels.false_miss >= may_be_lost)
    return FittingEntries{inconclusive("B", tlb_entries_method,
                                       "of as few lines as are sure to fit too many are late: others take a part"),
                          0};
  spec.sweep.line_bytes = static_cast<double>(level_.entry.bytes);
  spec.sweep.contamination = facts_.contamination();
  spec.sweep.scatter = scatter_of_fitting();
  spec.sweep.by_law_alone = true;  // pages fill sets unevenly: of more, a circle may lose none again
  auto found = search_capacity(pages_.session(), spec);
  if (!found) return tl::unexpected<Error>(found.error());
  FittingEntries fitting{estimate_of(*found, tlb_entries_method), 0};
  leave_out_front(fitting.reach, found->counts, level_.entry.bytes);
  // What grows with laps is a range, not unknown.
  if (fitting.reach.status == Status::measured || !found->settled)
    fitting.about =
        static_cast<std::uint64_t>(found->posterior.footprints_bytes[found->posterior.best()]) / level_.entry.bytes;
  return fitting;
}

Expected<Collisions> TlbEntries::collisions(std::uint64_t entries) {
  facts_.capacity_bytes = entries * facts_.line_bytes;
  return find_collisions(circles_, entries);
}

Expected<std::optional<HeldEntries>> TlbEntries::held(std::uint64_t entries, Collisions& seen) {
  using Held = std::optional<HeldEntries>;
  if (!seen.why_open.empty() || !seen.complete || seen.sets.empty()) return held_by_steps(entries, seen);
  const Held whole(HeldEntries{seen.held_lines, 0, 0, 0});
  const auto is_like_first = [&](const auto& set) { return set.size() == seen.sets.front().size(); };
  const bool are_alike = std::all_of(seen.sets.begin(), seen.sets.end(), is_like_first);
  if (seen.held_lines < seen.fits) return Held();
  if (are_alike && (seen.always || seen.held_lines == seen.fits)) return whole;
  if (!seen.always) return Held();
  // Lines that a set lost together are all of it, and of no other, where it goes by use or by age.
  auto replacement = find_replacement(circles_, seen, seen.sets.front().size() - 1);
  if (!replacement) return tl::unexpected<Error>(replacement.error());
  return replacement->policy == "lru" || replacement->policy == "fifo" ? whole : Held();
}

namespace {

// So many rounds that of all lines of a circle none is judged wrongly by a vote of its looks, but for one in a hundred
// circles; or as many as there is time for.
std::pair<std::uint32_t, Vote> rounds_to_judge(std::uint64_t lines, const Levels& levels) {
  constexpr double seldom = 0.01;
  constexpr std::uint32_t most_rounds = 33;
  const auto all = static_cast<double>(lines);
  std::uint32_t rounds = 3;
  Vote vote = best_vote(rounds, all, levels.false_miss, all, levels.false_hit);
  for (; vote.wrong > seldom && rounds < most_rounds; rounds += 2)
    vote = best_vote(rounds + 2, all, levels.false_miss, all, levels.false_hit);
  return {rounds, vote};
}

// Lines of the circle that too few looks found, of `rounds` or more.
std::vector<std::uint64_t> voted_lost(const Losses& losses, std::uint32_t rounds, const Vote& vote) {
  std::vector<std::uint64_t> lost;
  for (std::uint64_t line = 0; line < losses.circle.lines; ++line)
    if ((losses.looks[line] - losses.misses[line]) * rounds < vote.enough * losses.looks[line]) lost.push_back(line);
  return lost;
}

}  // namespace

// Circles grow by a line at a time until all lines are lost. Where that is LRU or first in first out, a line either
// finds room, or is one of a set that was overfull before, or overflows a set: then that set's ways and itself are lost
// that weren't yet. So many sets were there, of so many ways.
Expected<std::optional<HeldEntries>> TlbEntries::held_by_steps(std::uint64_t entries, Collisions& seen) {
  using Held = std::optional<HeldEntries>;
  constexpr std::uint64_t most_steps = 1024, at_once = 32;
  const auto [rounds, vote] = rounds_to_judge(entries, facts_.levels);
  const Effort effort{rounds, false};
  FirstLosses first_losses;
  std::uint64_t most_kept = 0;
  Series grown{"circles that grow by a line", {}};
  const std::uint64_t first = entries - entries / 64;
  facts_.warm_laps = 1;  // after one a set that goes by age is as it stays
  for (std::uint64_t lines = first; lines < first + most_steps;) {
    std::vector<Circle> circles;
    for (; circles.size() < at_once && lines <= circles_.room_lines(); ++lines) circles.push_back({0, lines});
    const bool goes_by_chance = first_losses.by_step().empty() && lines > entries + 4 * at_once;
    if (circles.empty() || goes_by_chance) return Held();
    auto all = circles_.walk(circles, effort);
    if (!all) return tl::unexpected<Error>(all.error());
    for (const Losses& losses : *all) {
      const auto lost = voted_lost(losses, rounds, vote);
      most_kept = std::max<std::uint64_t>(most_kept, losses.circle.lines - lost.size());
      first_losses.add(lost, losses.circle.lines);
      grown.points.emplace_back(static_cast<double>(losses.circle.lines), static_cast<double>(lost.size()));
      if (lost.size() < losses.circle.lines) continue;
      first_losses.add(lost, losses.circle.lines);
      DecidingCurve curve =
          make_curve(facts_.path.id, "sets", {"lines of a circle", "", false}, {"lines that are lost", "", false});
      curve.series = {std::move(grown)};
      pages_.session().keep(std::move(curve));
      // Sets of which a circle kept more than they hold are none: what goes by a tree of bits, few at a time, looks
      // like small ones. But for as many as lie in the level before, or in what the device has like it: an H200's
      // second TLB keeps up to seven more than its sets, until an overfull one has lost its lines.
      Held held = sets_of(first_losses, level_.in_front);
      if (!held || held->entries + level_.in_front < most_kept) return Held();
      held->most_kept = most_kept;
      if (auto told = collisions_of(first_losses, *held)) {
        const auto is_in_order = goes_in_order(*told, effort);
        if (!is_in_order) return tl::unexpected<Error>(is_in_order.error());
        told->samples = seen.samples;
        told->address = seen.address;
        if (*is_in_order) seen = std::move(*told);
      }
      return held;
    }
  }
  return Held();
}

// Whether the first set that overflowed loses each of its lines each time.
Expected<bool> TlbEntries::goes_in_order(const Collisions& told, const Effort& effort) {
  auto losses = circles_.walk(std::vector<Circle>{{0, told.fits + 1}}, effort);
  if (!losses) return tl::unexpected<Error>(losses.error());
  return always_lost(losses->front(), told.sets.front(), facts_.levels.false_hit);
}

// What loads of a circle take longer than with nothing lost, walked just as circles are counted: the same loads behind
// fewer or more others wait otherwise.
Expected<std::vector<double>> TlbEntries::time_circle(const Circle& circle) {
  std::vector<double> all;
  for (std::size_t i = 0; i < replicates_of_a_circle; ++i) {
    auto cycles = circles_.times(circle, Effort{LineTimes::variants});
    if (!cycles) return cycles;
    all.insert(all.end(), cycles->begin(), cycles->end());
  }
  return all;
}

Expected<bool> TlbEntries::hides_a_level(std::uint64_t entries) {
  constexpr double a_tenth = 0.1, few = 0.02;
  const std::uint64_t lines = std::min(entries, std::uint64_t{pages_.session().info().largest_recording});
  auto cycles = time_circle({0, lines});
  if (!cycles) return tl::unexpected<Error>(cycles.error());
  const double later = a_tenth * (level_.lost_cycles - level_.in_front_cycles);
  const auto between = static_cast<double>(std::count_if(cycles->begin(), cycles->end(), [&](double c) {
    return c >= level_.in_front_cycles + later && c < facts_.levels.threshold_cycles;
  }));
  const auto loads = static_cast<double>(cycles->size());
  const double expected = loads * (few + share_of_fitting([&](double c) { return c >= later; }));
  return between > expected + 6 * std::sqrt(expected);
}

Expected<std::optional<double>> TlbEntries::lost_cycles(std::uint64_t entries) {
  constexpr double enough = 16;
  // A quarter more than fits: what lies behind holds twice as much at least, or it would hardly be seen.
  const std::uint64_t lines = std::min(
      {entries + entries / 4 + 1, circles_.room_lines(), std::uint64_t{pages_.session().info().largest_recording}});
  auto cycles = time_circle({0, lines});
  if (!cycles) return tl::unexpected<Error>(cycles.error());
  std::vector<double> lost;
  for (const double c : *cycles)
    if (c >= facts_.levels.threshold_cycles) lost.push_back(c);
  // Strangers look lost, too, by any number of cycles: the median is one of lines that are where most of them are.
  const double strangers = facts_.levels.false_miss * static_cast<double>(cycles->size());
  if (static_cast<double>(lost.size()) < enough + 2 * strangers + 6 * std::sqrt(strangers))
    return std::optional<double>();
  DecidingCurve curve = make_curve(facts_.path.id, "miss_penalty", {"more than a hit here", "cycles", false},
                                   share_axis("loads of lost lines"));
  std::vector<double> more = lost;
  for (double& c : more) c -= level_.in_front_cycles;
  curve.change = change_point::median(more);
  curve.series = {share_up_to("just lost", std::move(more))};
  pages_.session().keep(std::move(curve));
  return change_point::median(lost);  // as a line's own time is one
}

}  // namespace gputopo::experiments
