// Size and line of the L2: all lanes of one SM warm a footprint, one thread samples it, a stretch of neighbouring lines
// at a time, so that no TLB has a part in it. Loads that no cache served tell what fits and what is held of more. What
// is slower than a hit before that is lines of another side, or of a cache behind this one: l2_behind.cpp.
#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "evidence/held/agreed_size.hpp"
#include "evidence/held/l2_held.hpp"
#include "evidence/held/l2_rows.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/inference/hidden_level.hpp"
#include "evidence/inference/modes.hpp"
#include "evidence/lines/l2_lost.hpp"
#include "evidence/lines/l2_sector.hpp"
#include "evidence/lines/line.hpp"
#include "evidence/looks/footprint.hpp"
#include "evidence/looks/kept.hpp"
#include "evidence/looks/search.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;
using program::Record;
using program::Walk;

constexpr std::uint64_t kibi = 1 << 10;
constexpr std::uint64_t l2_mebi = 1 << 20;
constexpr std::uint64_t small_bytes = 64 * kibi;  // fits into every L2 there has been

std::uint64_t limit_of(const Session& session) {
  return std::min(session.info().largest_buffer_bytes / 2, std::max(4 * session.info().l2_bytes, 256 * l2_mebi));
}

// One part in 64 of the driver's figure, the finest that a thousand loads tell of the share that misses.
std::uint64_t resolution_of(const Session& session) {
  return std::max(l2_unit_bytes, session.info().l2_bytes / 64);
}

Expected<SearchResult> search_l2(Session& session, L2Rows& rows, L2Rows::Asked& asked, const Levels& levels,
                                 std::uint64_t first, std::uint64_t limit, std::string_view quantity) {
  SearchSpec spec;
  spec.quantity = quantity;
  spec.count = rows.counter(levels.threshold_cycles, asked);
  spec.sweep = {static_cast<double>(rows.stride()), false, levels.contamination()};
  spec.sweep.saturation = rows.saturation();
  spec.sweep.by_law_alone = true;  // pages lie anywhere, and fill sets unevenly
  spec.unit_bytes = l2_unit_bytes;
  spec.first_bytes = first;
  spec.limit_bytes = limit;
  spec.rows = 16;
  spec.rows_take_long = true;
  spec.replicates = 2;
  spec.resolution_bytes = resolution_of(session);
  spec.most_patience = session.info().l2_bytes <= l2_patient_bytes ? 16 : 1;
  return search_capacity(session, spec);
}

struct Size {
  Estimate estimate;
  std::uint64_t fill = 0;   // bytes to walk so that it overflows; 0: unknown
  std::uint64_t about = 0;  // the likeliest, whether or not that is sure
  struct Counted {
    Footprints walked;
    Estimate near;
  };
  std::optional<Counted> counted = {};  // what an SM found near of them, not rounded
};

// Of which caches lines that memory needn't bring again lie in.
enum class Holds {
  one,
  perhaps_several,
  sides  // that may keep copies: more than an SM's own side holds and fewer than all, and seldom as many of more
};

// What fits, and what is held of more.
Expected<Size> size_by(Session& session, L2Rows& rows, const Levels& levels, std::uint64_t limit_bytes,
                       std::string_view method, Holds holds) {
  L2Rows::Asked asked;
  auto found =
      search_l2(session, rows, asked, levels, small_bytes, limit_bytes, method == slower_hits ? "near_size" : "size");
  if (!found) return tl::unexpected<Error>(found.error());
  const Estimate fits = estimate_of(*found, method);
  if (fits.status != Status::measured && fits.status != Status::inconclusive) return Size{fits};
  const auto about = static_cast<std::uint64_t>(found->posterior.footprints_bytes[found->posterior.best()]);
  const Footprints walked = overflowing(session.info(), about);
  const std::size_t counts = holds == Holds::sides ? 2 : most_l2_counts;
  const std::uint64_t resolution = std::max(l2_unit_bytes, about / 16);
  Size size{fits, 0, about};
  for (const Care care : {Care::few_looks, Care::many_looks}) {
    auto held = if_available(count_near(rows, asked, levels, walked, counts, care));
    if (!held) return tl::unexpected<Error>(held.error());
    if (!*held && care == Care::many_looks) break;
    if (*held) (*held)->is_sample = holds == Holds::one;
    size.estimate = agreed_size(fits, *held, static_cast<double>(resolution));
    size.fill = bytes_to_fill(size.estimate, *held);
    // Counts that agree and yet tell no more than a bound may be as wide by chance.
    const bool is_a_bound = *held && (*held)->steady && size.estimate.status == Status::lower_bound;
    if (!is_a_bound || holds != Holds::one || !may_look_more(rows, walked.first)) break;
  }
  if (holds == Holds::sides && size.estimate.status == Status::measured)
    bound_below(size.estimate, "sides may keep copies of one another's lines in place of their own");
  return size;
}

// What is near of more than fits at all, for which nothing else needs to be walked; where that doesn't tell it, of more
// than is near by that count. Where all sides or a cache behind fit far more than is near, of what they hold: near
// lines go with those. Nothing where none does.
Expected<std::optional<Size>> near_by_count(Session& session, L2Rows& rows, const Levels& levels, const Size& whole,
                                            std::size_t sides) {
  const double nominal_bytes =
      static_cast<double>(session.info().l2_bytes) / static_cast<double>(std::max<std::size_t>(1, sides));
  constexpr double far_more = 1.5;
  const auto fits = static_cast<double>(whole.about);
  const Footprints within{0.8 * fits, 0.9375 * fits};
  L2Rows::Asked asked;
  Footprints walked = overflowing(session.info(), whole.about);
  for (int count = 0; count < 3; ++count) {
    auto held = if_available(count_near(rows, asked, levels, walked, most_l2_counts));
    if (!held) return tl::unexpected<Error>(held.error());
    if (!*held || (*held)->bytes <= 0) return std::optional<Size>();
    const bool is_within = walked.most < fits;
    if (fits >= far_more * (*held)->bytes && !is_within) {
      walked = within;
      continue;
    }
    const Estimate near = counted_near(**held);
    if ((*held)->steady && is_telling(near)) {
      const std::uint64_t step = resolution_of(session);
      const auto fill = static_cast<std::uint64_t>((*held)->bytes) / step * step;
      return Size{as_next_count(near, nominal_bytes), fill, whole.about,
                  Size::Counted{{(*held)->walked_bytes, walked.most}, near}};
    }
    if (is_within || !(*held)->steady) return std::optional<Size>();
    walked = overflowing(session.info(), static_cast<std::uint64_t>((*held)->bytes));
  }
  return std::optional<Size>();
}

// The levels of what is slower than a hit at footprints that hold nothing of memory yet; nothing where all of them hit
// alike. The large footprint is a mixture of hits and what is slower: how much of the slower looks like a hit, by
// distance, what others brought in tells, else the mixture.
Expected<std::optional<Levels>> levels_between(L2Rows& rows, const Levels& l2, const Histogram& far,
                                               std::uint64_t whole_bytes) {
  constexpr double a_share_of_loads = 0.25;  // half of what the smallest of two sides leaves out of a full one
  L2Rows::Asked asked;
  // As many places of the small one as of the large one: lines of one stretch are of few slices, and as far as these.
  const auto looks_at = [&](std::uint64_t bytes, std::uint32_t patience) {
    return rows.histograms({{bytes, patience}}, l2_least_places / rows.stretches(bytes, Purpose::search),
                           Purpose::search, asked);
  };
  auto few = looks_at(small_bytes, 16);
  if (!few) return tl::unexpected<Error>(few.error());
  auto many = looks_at(whole_bytes * 15 / 16 / l2_unit_bytes * l2_unit_bytes, 1);
  if (!many) return tl::unexpected<Error>(many.error());
  Histogram small, large;
  for (const Histogram& h : *few) small = merged(small, h);
  for (const Histogram& h : *many) large = merged(large, between(h, 0, l2.threshold_cycles));
  Levels levels = levels_of(small, large);
  if (far.empty()) {
    if (levels.told_apart() < a_share_of_loads || levels.doubt > 1e-6) return std::optional<Levels>();
    levels.false_hit = std::max(l2.false_hit, hidden_share(levels));
    levels.most_false_hit = most_hidden_share(levels);
  } else {
    // Copies of the other side's lines may take the place of the own ones: then none is slower before memory answers.
    levels = levels_of(small, far);
    if (total(large) != 0) levels.next = large;
  }
  return levels.usable() ? std::optional(std::move(levels)) : std::nullopt;
}

// Whether another program fills the L2: what is found near gets lost by itself.
Expected<bool> do_others_fill(Session& session, CacheFacts l2, const Size& near, std::uint64_t stride) {
  l2.sector_bytes = stride;
  const std::uint64_t kept = near.fill != 0              ? near.fill
                             : near.estimate.has_value() ? static_cast<std::uint64_t>(*near.estimate.value)
                                                         : small_bytes;
  auto alone = if_available(is_left_alone(session, l2, kept, Scope::gpu));
  if (!alone) return tl::unexpected<Error>(alone.error());
  return !alone->value_or(true);
}

// `walked` tells lines that are near from those that were lost. As much as an SM finds near need only be known roughly.
Expected<Estimate> measure_l2_line(Session& session, const CacheFacts& walked, const Size& near) {
  const std::uint64_t about = near.fill != 0              ? near.fill
                              : near.estimate.has_value() ? static_cast<std::uint64_t>(*near.estimate.value)
                                                          : session.info().l2_bytes;
  if (about == 0) return inconclusive("B", line_method, "needs the size");
  if (!walked.levels.usable())
    return inconclusive("B", line_method, "hits and loads of memory in a row can't be told apart");
  return measure_line(session, walked, about, Scope::gpu);
}

// Far hits and loads of memory can't be told apart where it isn't known how near what another SM brought in is.
bool are_far_hits_unknown(const Findings& findings, const Memory& l2) {
  const auto statement = l2.structure.find("l2_sides");
  return statement != l2.structure.end() && statement->second.status == Status::inconclusive &&
         !findings.beyond_own_l2 && !findings.may_have_sides;
}

// What SMs of each set find near; nothing where one of them can't be asked.
Expected<std::vector<Estimate>> near_by_set(Session& session, const Findings& findings, const CacheFacts& l2,
                                            const Levels& levels, const Size::Counted& first) {
  std::vector<Estimate> all{first.near};
  for (std::size_t set = 1; findings.l2_sets && set < findings.l2_sets->sets.size(); ++set) {
    L2Rows rows(session, l2, findings.l2_sets->sets[set].front());
    // One count where that tells it, at a footprint of which the first set's did.
    std::optional<Estimate> near;
    for (const std::size_t counts : {std::size_t{1}, most_l2_counts}) {
      L2Rows::Asked asked;
      auto held = if_available(count_near(rows, asked, levels, first.walked, counts));
      if (!held) return tl::unexpected<Error>(held.error());
      if (!*held || (counts > 1 && !(*held)->steady)) return std::vector<Estimate>();
      near = counted_near(**held);
      if (is_telling(*near)) break;
    }
    all.push_back(*near);
  }
  return all;
}

// Hits, from wherever in the L2, against all that memory serves. Walks load lines in a row, from rows of DRAM that are
// open, and these may be nearer than what was lost here and there: where they look like hits beside memory's other
// loads, against those, which missed for sure.
Levels levels_before_memory(const Findings& findings, const CacheFacts& l2) {
  const Histogram& in_a_row = findings.l2_cold_in_a_row;
  const std::uint64_t lines = total(in_a_row);
  if (!are_more_than_strangers(lines - count_from(in_a_row, l2.levels.threshold_cycles), lines)) return l2.levels;
  return levels_of(merged(l2.levels.hit, findings.brought_by_others()), in_a_row);
}

// Of an L2 without sides what is slower than a hit was lost, whether memory brings it again or a cache behind: where
// lines that it just lost tell, hits are told from these. Nothing where they don't.
Expected<std::optional<Levels>> levels_by_lost(Session& session, Findings& findings, const CacheFacts& l2) {
  const auto statement = findings.memory("l2").structure.find("l2_sides");
  const bool is_one = statement != findings.memory("l2").structure.end() && statement->second.value == "1";
  if (!is_one || findings.beyond_own_l2) return std::optional<Levels>();
  auto lost = time_just_lost(session, session.info().l2_bytes, findings.lines_apart);
  if (!lost) return tl::unexpected<Error>(lost.error());
  if (!*lost) return std::optional<Levels>();
  Levels levels = graded_levels(l2.levels.hit, {findings.l2_cold_in_a_row, **lost, l2.levels.next}, l2.overhead_cycles);
  // Of a cache behind at distances like its own some loads look like hits wherever that is known: one alarm in forty
  // leaves a size open.
  constexpr double deviations = 2;
  levels.false_hit = std::max(levels.false_hit, hidden_share(levels, deviations));
  levels.most_false_hit = most_hidden_share(levels);
  if (!levels.usable()) return std::optional<Levels>();
  findings.lost_by_l2 = std::move(**lost);
  return std::optional(std::move(levels));
}

Holds held_in(const Findings& findings, const Memory& l2) {
  const auto statement = l2.structure.find("l2_sides");
  const bool is_one = findings.lines_have_sides || (statement != l2.structure.end() && statement->second.value == "1");
  return is_one ? Holds::one : findings.beyond_own_l2 ? Holds::sides : Holds::perhaps_several;
}

struct Near {
  Size size;
  Levels levels;
};

// What is near of all that fits before memory answers; nothing where all of that is, as far as loads tell.
Expected<std::optional<Near>> find_near(Session& session, const Findings& findings, L2Rows& rows, const Levels& levels,
                                        const Size& whole) {
  if (!whole.estimate.has_value() || findings.lines_have_sides) return std::optional<Near>();
  const auto bytes = static_cast<std::uint64_t>(*whole.estimate.value);
  auto slower = levels_between(rows, levels, findings.brought_by_others(), bytes);
  if (!slower) return tl::unexpected<Error>(slower.error());
  if (!*slower) return std::optional<Near>();
  if (findings.beyond_own_l2) {
    // Sides that keep copies, or a cache behind several L2s: what another SM brought in tells near from far.
    auto counted = near_by_count(session, rows, **slower, whole, findings.beyond_own_l2->sets);
    if (!counted) return tl::unexpected<Error>(counted.error());
    if (*counted) return Near{std::move(**counted), std::move(**slower)};
  }
  // Of more than all sides fit an SM finds less near: there a count is no second opinion.
  auto searched = size_by(session, rows, **slower, bytes * 2, slower_hits,
                          findings.beyond_own_l2 ? Holds::perhaps_several : Holds::one);
  if (!searched) return tl::unexpected<Error>(searched.error());
  return Near{std::move(*searched), std::move(**slower)};
}

}  // namespace

Expected<void> measure_l2_geometry(Session& session, Findings& findings) {
  CacheFacts* l2 = findings.cache("l2");
  if (l2 == nullptr || !l2->present) return {};
  Memory& memory = findings.memory("l2");
  auto by_lost = levels_by_lost(session, findings, *l2);
  if (!by_lost) return tl::unexpected<Error>(by_lost.error());
  if (*by_lost && !memory.attributes["sector_size"].has_value()) state_l2_sector(session, findings, **by_lost);
  L2Rows rows(session, *l2);
  CacheFacts walked = *l2;
  const Levels before_memory = *by_lost ? std::move(**by_lost) : levels_before_memory(findings, *l2);
  walked.levels = before_memory;
  findings.l2_levels = walked.levels;
  Size whole{inconclusive("B", "memory_loads", "far hits and loads of memory can't be told apart")};
  if (before_memory.usable() && !are_far_hits_unknown(findings, memory)) {
    auto by_memory =
        size_by(session, rows, walked.levels, limit_of(session), "memory_loads", held_in(findings, memory));
    if (!by_memory) return tl::unexpected<Error>(by_memory.error());
    whole = *by_memory;
  }
  Size near = whole;
  // Others who fill the L2 push what it loses out of a cache behind it as well.
  Expected<bool> others = false;
  const bool is_lost_known = findings.lost_by_l2.has_value();
  if (is_lost_known) others = do_others_fill(session, walked, near, rows.stride());
  if (!others) return tl::unexpected<Error>(others.error());
  if (*others) findings.lost_by_l2.reset();
  if (!findings.lost_by_l2) {
    auto inside = find_near(session, findings, rows, l2->levels, whole);
    if (!inside) return tl::unexpected<Error>(inside.error());
    if (*inside) near = std::move((*inside)->size), walked.levels = std::move((*inside)->levels);
  }
  if (!is_lost_known && walked.levels.usable()) others = do_others_fill(session, walked, near, rows.stride());
  if (!others) return tl::unexpected<Error>(others.error());
  findings.others_fill_l2 = *others;
  for (Size* s : {&whole, &near}) {
    if (!*others) break;
    if (s->estimate.status == Status::measured)
      bound_below(s->estimate, "another program fills the L2 while it is measured");
    s->fill = 0;
  }
  auto line = measure_l2_line(session, walked, near);
  if (!line) return tl::unexpected<Error>(line.error());
  memory.attributes["line_size"] = *line;
  if (line->has_value()) l2->line_bytes = static_cast<std::uint64_t>(*line->value);
  if (near.estimate.method == slower_hits) {
    const Histogram behind = between(walked.levels.next, walked.levels.threshold_cycles, 1e9);
    findings.beyond_near_l2 = {near.estimate, whole_mode(behind), walked.levels, {}};
    if (near.counted) {
      auto by_set = near_by_set(session, findings, *l2, walked.levels, *near.counted);
      if (!by_set) return tl::unexpected<Error>(by_set.error());
      findings.beyond_near_l2->by_set = std::move(*by_set);
    }
  }
  findings.l2_before_memory = whole.estimate;
  l2->capacity_bytes = session.info().l2_bytes;
  if (l2->capacity_bytes == 0 && whole.estimate.has_value())
    l2->capacity_bytes = static_cast<std::uint64_t>(*whole.estimate.value);
  return {};
}

}  // namespace gputopo::experiments
