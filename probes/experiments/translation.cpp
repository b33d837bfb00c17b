// How addresses are translated: levels of TLBs, their entries and what one covers, what a miss costs, how they are
// organised and which SMs share one (Mei and Chu 2017, 4.4; Wong et al. 2010, H; docs/measuring.md, 'Translation').
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "evidence/inference/curves.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/looks/structure.hpp"
#include "experiments/experiments.hpp"
#include "experiments/tlb_code.hpp"
#include "experiments/tlb_entries.hpp"
#include "experiments/tlb_scope.hpp"
#include "experiments/tlb_textures.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;

constexpr std::string_view translation_method = "pages_touched";
constexpr std::array<std::string_view, 3> tlb_ids{"tlb_l1", "tlb_l2", "tlb_l3"};
constexpr std::uint32_t looking_sm = 0;
constexpr std::string_view interrupted = "another process on the GPU interrupted what would tell it every time";

void leave_translation_open(Memory& memory, std::string_view why) {
  for (const char* name : {"size", "entry_size"}) memory.attributes[name] = inconclusive("B", translation_method, why);
  memory.attributes["entries"] = inconclusive("", translation_method, why);
}

void state_entries(Memory& memory, const Estimate& reach, std::uint64_t entry_bytes) {
  memory.attributes["size"] = reach;
  Estimate entries = reach;
  const auto scale = [&](double bytes) { return bytes / static_cast<double>(entry_bytes); };
  entries.unit = "";
  if (entries.value) entries.value = scale(*entries.value);
  if (entries.interval) entries.interval = Interval{scale(entries.interval->low), scale(entries.interval->high)};
  memory.attributes["entries"] = entries;
}

// Sets that were counted, though which entries share one wasn't seen.
void state_sets(Memory& memory, const HeldEntries& held) {
  Estimate& sets = memory.attributes["sets"] =
      measured(static_cast<double>(held.sets), "", "page_circles", held.entries);
  sets.note = "so many were seen to overflow while circles grew by one line at a time, until none kept what it had";
  memory.attributes["ways"] = measured(static_cast<double>(held.ways), "", "page_circles", held.entries);
  if (held.sets == 1) {
    Statement& index = memory.structure["index"] = decided("none", "page_circles", held.entries);
    index.note = "one set: any line may lie anywhere";
    memory.attributes["consecutive_lines"] = not_supported("", "one set holds all lines");
  }
}

class Translation {
 public:
  Translation(Pages& pages, TlbLevels levels, std::uint64_t l2_bytes)
      : pages_(pages), levels_(std::move(levels)), l2_bytes_(l2_bytes) {}

  std::size_t seen() const {
    return levels_.plateaus.empty() ? 0 : std::min(levels_.plateaus.size() - 1, tlb_ids.size());
  }

  // Whether what was measured last may be two levels: which comes next isn't known then.
  bool may_be_two() const { return may_be_two_; }

  Expected<void> measure(std::size_t number, Memory& memory) {
    const Plateau& lost = levels_.plateaus[number];
    keep_levels(number, memory.id);
    TlbLevel level{number,    {},       in_front_cycles_, lost.cycles, in_front_, levels_.plateaus[number - 1].to,
                   lost.from, l2_bytes_};
    auto entry = find_entry_size(pages_, looking_sm, levels_, number);
    if (!entry) return tl::unexpected<Error>(entry.error());
    level.entry = *entry;
    DecidingCurve served = make_curve(memory.id, "entry_size", {"bytes between two lines", "B", true},
                                      {"share of looks that one's entry served", "", false});
    served.series = entry->served;
    if (entry->bytes != 0) served.change = static_cast<double>(entry->bytes);
    pages_.session().keep(std::move(served));
    std::optional<double> lost_cycles;
    if (entry->bytes == 0) {
      leave_translation_open(memory, entry->why_open);
    } else {
      Estimate& covers = memory.attributes["entry_size"] =
          measured(static_cast<double>(entry->bytes), "B", "refill", pages_.samples());
      covers.note = "what one entry serves; pages may be smaller, where an entry serves several that lie in a row";
      auto cycles = if_available(measure_entries(level, memory));
      if (!cycles) return tl::unexpected<Error>(cycles.error());
      if (*cycles) lost_cycles = **cycles;
      if (!lost_cycles && memory.attributes.contains("size") &&
          memory.attributes["size"].status == Status::inconclusive)
        bound_above(memory.attributes["entry_size"], "a level behind, whose entries cover more, may be lost at once");
      for (const auto& [name, unit] : {std::pair{"size", "B"}, {"entries", ""}})
        if (!memory.attributes.contains(name))
          memory.attributes[name] = inconclusive(unit, translation_method, interrupted);
    }
    if (auto ok = state_penalty(level, lost_cycles, memory); !ok) return ok;
    if (may_be_two_) return {};
    if (entry->bytes == 0) {
      for (const char* name : {"textures", "code", "scope"})
        memory.structure[name] =
            undecided(translation_method, "whether one level or several are lost at once isn't known");
      return {};
    }
    const Estimate* entries = memory.find("entries");
    const bool is_known = entries != nullptr && entries->status == Status::measured;
    const std::uint64_t count = is_known ? static_cast<std::uint64_t>(*entries->value) : 0;
    auto ok = or_undecided(memory, "textures", translation_method,
                           measure_tlb_textures(pages_, levels_, number, count, entry->bytes, memory));
    if (ok)
      ok = or_undecided(memory, "code", translation_method,
                        measure_tlb_code(pages_, levels_, number, l2_bytes_, memory));
    if (ok) ok = or_undecided(memory, "scope", translation_method, measure_tlb_scope(pages_, levels_, number, memory));
    return ok;
  }

 private:
  void keep_levels(std::size_t number, std::string_view id) {
    const Plateau &before = levels_.plateaus[number - 1], &lost = levels_.plateaus[number];
    DecidingCurve curve = make_curve(id, "levels", {"other places touched in between", "", true},
                                     {"more than with its translation at hand", "cycles", false});
    curve.series = {levels_.by_places};
    curve.change = static_cast<double>(lost.from);
    curve.interval = Interval{static_cast<double>(std::min(before.to, lost.from)), static_cast<double>(lost.from)};
    pages_.session().keep(std::move(curve));
  }

  // Entries, reach and organisation. Gives what a line that this level just lost takes longer, where that was seen.
  Expected<std::optional<double>> measure_entries(const TlbLevel& level, Memory& memory) {
    using Cycles = std::optional<double>;
    const auto layout = page_layout(pages_, level, looking_sm);
    if (!layout) return tl::unexpected<Error>(layout.error());
    if (!*layout) {
      leave_translation_open(memory, "the L2 loses lines that lie an entry apart: they crowd a few of its sets");
      in_front_ = levels_.plateaus[level.number].from;
      return Cycles();
    }
    TlbEntries entries(pages_, tlb_ids[level.number - 1], level, **layout, looking_sm);
    auto fitting = entries.fitting();
    if (!fitting) return tl::unexpected<Error>(fitting.error());
    // Lines that the nearer levels go on answering needn't fit into this one.
    const double kept_in_front = static_cast<double>(in_front_ * level.entry.bytes);
    in_front_ = levels_.plateaus[level.number].from;
    Estimate reach = fitting->reach;
    const std::uint64_t fits = fitting->about;
    // As many as are said to fit at least, where nothing shows where that ends.
    const std::uint64_t shown =
        fits != 0 ? fits : static_cast<std::uint64_t>(reach.value.value_or(0)) / level.entry.bytes;
    auto hides = shown == 0 ? Expected<bool>(false) : entries.hides_a_level(shown);
    if (!hides) return tl::unexpected<Error>(hides.error());
    if (fits != 0) in_front_ = fits;
    if (*hides) {
      leave_translation_open(memory, "lines that fit are late by less than a miss costs: another level may lie before");
      may_be_two_ = true;
      return Cycles();
    }
    if (fits == 0) {
      state_entries(memory, reach, level.entry.bytes);
      return Cycles();
    }
    auto cycles = entries.lost_cycles(fits);
    if (!cycles) return cycles;
    auto seen = entries.collisions(fits);
    if (!seen) return tl::unexpected<Error>(seen.error());
    auto held = entries.held(fits, *seen);
    if (!held) return tl::unexpected<Error>(held.error());
    if (*held) {
      const auto bytes = [&](std::uint64_t count) { return static_cast<double>(count * level.entry.bytes); };
      const std::uint64_t most = std::max((**held).entries, (**held).most_kept);
      Estimate sets = measured(bytes((**held).entries), "B", reach.method, seen->samples + reach.samples);
      if (reach.value == sets.value) sets.confidence = reach.confidence;
      sets.interval = Interval{*sets.value, bytes(most)};
      reach = std::move(sets);
      if (most > (**held).entries)
        reach.note = fmt::format("what its sets hold; as many as {} were seen to fit for a while", most);
    } else if (reach.status == Status::measured) {
      reach.status = Status::lower_bound;
      reach.value = (reach.interval ? reach.interval->low : *reach.value) - kept_in_front;
      reach.interval.reset();
      reach.note = "so much fits; whether an index that fills the sets unevenly leaves room isn't known";
      if (*reach.value <= 0) reach = inconclusive("B", reach.method, "nearer levels may hold all that fits");
    }
    if (!*held && seen->why_open.empty()) seen->why_open = "the sets that were seen needn't be all that it holds";
    state_entries(memory, reach, level.entry.bytes);
    const CountedSets counted = *held ? CountedSets{(**held).sets, (**held).ways} : CountedSets{};
    if (auto ok = tell_organisation(entries.circles(), *seen, memory, level.entry.bytes, counted); !ok)
      return tl::unexpected<Error>(ok.error());
    if (*held && (**held).sets != 0 && memory.find("sets")->status == Status::inconclusive) state_sets(memory, **held);
    return cycles;
  }

  // Where lines that were just lost take less than the step in which the latency rose, that was a step of two levels:
  // the second is as near behind this one as few numbers of places tell. Where they take more, so many lines lose the
  // next level as well, which holds little more: then the step is this one's.
  Expected<void> state_penalty(const TlbLevel& level, std::optional<double> lost_cycles, Memory& memory) {
    const double surely_apart = std::max(4 * levels_.noise_cycles, 3.0);
    if (lost_cycles && *lost_cycles - level.lost_cycles > surely_apart) lost_cycles = level.lost_cycles;
    const double cycles = lost_cycles.value_or(level.lost_cycles);
    const double error = 1.96 * levels_.noise_cycles * std::sqrt(2.0);
    const double penalty = cycles - level.in_front_cycles;
    Estimate& e = memory.attributes["miss_penalty"] = measured(penalty, "cycles", translation_method, pages_.samples());
    e.interval = Interval{std::max(0.0, penalty - error), penalty + error};
    e.note = fmt::format("as SM {} sees it", looking_sm);
    if (!lost_cycles)
      e = inconclusive("cycles", translation_method, "whether one level or several are lost at once isn't known");
    if (lost_cycles && level.lost_cycles - *lost_cycles > surely_apart) {
      const Plateau& last = levels_.plateaus[level.number];
      const Plateau between{*lost_cycles, in_front_, last.from, 0};
      levels_.plateaus.insert(levels_.plateaus.begin() + static_cast<std::ptrdiff_t>(level.number), between);
      if (auto ok = choose_typical(pages_, looking_sm, levels_, level.number); !ok) return ok;
    }
    in_front_cycles_ = cycles;
    return {};
  }

  Pages& pages_;
  TlbLevels levels_;
  std::uint64_t l2_bytes_;
  bool may_be_two_ = false;  // the latest level, with one that hides in it
  double in_front_cycles_ = 0;
  std::uint64_t in_front_ = 0;
};

}  // namespace

Expected<void> measure_translation(Session& session, Findings& findings) {
  const CacheFacts* l2 = findings.cache("l2");
  const std::uint64_t line = l2 != nullptr && l2->line_bytes != 0 ? l2->line_bytes : 256;
  const std::uint64_t l2_bytes =
      l2 != nullptr && l2->capacity_bytes != 0 ? l2->capacity_bytes : session.info().l2_bytes;
  // A quarter of the L2's lines, of which each set gets a few now and then: they stay.
  Pages pages(session, line, l2_bytes == 0 ? std::numeric_limits<std::uint64_t>::max() : l2_bytes / line / 4);
  if (auto ok = pages.fit_between_interruptions(looking_sm); !ok) return ok;
  // A step of few cycles shows in one look and not in another; what is then taken for the first level is the second. So
  // two looks have to show as many, and none more.
  std::vector<TlbLevels> looks;
  const auto most_seen = [&] {
    return std::max_element(looks.begin(), looks.end(), [](const TlbLevels& a, const TlbLevels& b) {
      return a.plateaus.size() < b.plateaus.size();
    });
  };
  const auto seen_twice = [&] {
    return std::count_if(looks.begin(), looks.end(),
                         [&](const TlbLevels& l) { return l.plateaus.size() == most_seen()->plateaus.size(); }) >= 2;
  };
  constexpr std::size_t most_level_looks = 5;
  while (looks.size() < most_level_looks && !(looks.size() >= 2 && seen_twice())) {
    auto levels = find_tlb_levels(pages, looking_sm);
    if (!levels) return tl::unexpected<Error>(levels.error());
    looks.push_back(std::move(*levels));
  }
  if (!seen_twice()) {
    leave_translation_open(findings.memory(tlb_ids.front()), "five looks don't show as many levels twice");
    return {};
  }
  TlbLevels levels = *most_seen();
  bool may_hide_one = false;
  for (const TlbLevels& look : looks)
    if (look.may_hide_one && look.plateaus.size() <= levels.plateaus.size()) {
      levels.plateaus.resize(look.plateaus.size());
      may_hide_one = true;
    }
  for (std::size_t i = 1; i < levels.plateaus.size(); ++i)
    if (auto ok = choose_typical(pages, looking_sm, levels, i); !ok) return ok;
  const std::uint64_t most = levels.most;
  Translation translation(pages, std::move(levels), l2_bytes);
  std::size_t number = 1;
  for (; number <= translation.seen(); ++number) {
    session.report(0.9, fmt::format("TLB level {}", number));
    if (auto ok = translation.measure(number, findings.memory(tlb_ids[number - 1])); !ok) return ok;
    if (translation.may_be_two()) return {};
  }
  if (number > tlb_ids.size()) return {};
  leave_translation_open(
      findings.memory(tlb_ids[number - 1]),
      may_hide_one
          ? "more places push a line further than one level, but times between say that a level may lie there"
          : fmt::format("a line takes no longer after up to {} other places over {} MiB were touched: whether there "
                        "is a further level doesn't show",
                        most, pages.bytes() >> 20));
  return {};
}

}  // namespace gputopo::experiments
