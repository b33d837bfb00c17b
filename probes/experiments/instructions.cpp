// Where instructions live: the caches that jumps to blocks of code show, how large they are, what a miss in each brings
// and costs, who shares them, and whether constants lie in them, too (Wong et al. 2010, J; Größler 2022, 6.2;
// docs/measuring.md, 'Instruction caches').
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "evidence/code/code_levels.hpp"
#include "evidence/held/agreed_size.hpp"
#include "evidence/held/held.hpp"
#include "evidence/inference/curves.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/lines/line.hpp"
#include "evidence/lines/spaced_lines.hpp"
#include "evidence/looks/footprint.hpp"
#include "evidence/looks/pair.hpp"
#include "evidence/looks/structure.hpp"
#include "experiments/experiments.hpp"
#include "experiments/instruction_fetch.hpp"
#include "experiments/instruction_names.hpp"
#include "experiments/instruction_rivals.hpp"
#include "experiments/instruction_values.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;

CacheFacts code_facts(const CodeLevel& level, std::string_view id, const InstructionCache* in_front,
                      double first_cycles) {
  CacheFacts facts;
  facts.path = {id, program::Path::instruction, slot_code};
  facts.present = true;
  facts.levels = level.levels;
  facts.latency_cycles = level.hit_cycles - first_cycles;
  facts.overhead_cycles = first_cycles;
  facts.warm_laps = 4;
  facts.front_threshold_cycles = level.front_threshold_cycles;
  if (in_front != nullptr)
    facts.front_capacity_bytes = std::max(in_front->facts.capacity_bytes, in_front->level.to_bytes);
  return facts;
}

class Instructions {
 public:
  Instructions(Session& session, Findings& findings)
      : session_(session), findings_(findings), block_(session.info().code_block_bytes) {}

  Expected<void> run() {
    if (findings_.others_fill_l2 || findings_.others_fill_sms) {
      leave_instruction_caches_open(findings_, "another program fills the caches that code comes from");
      return {};
    }
    auto levels = find_code_levels(session_);
    if (!levels) return tl::unexpected<Error>(levels.error());
    if (levels->size() > code_level_names.size()) levels->resize(code_level_names.size());
    for (const CodeLevel& level : *levels) {
      session_.report(0.9, fmt::format("instruction cache {}", found_.size() + 1));
      InstructionCache next{level,
                            code_facts(level, code_level_names[found_.size()],
                                       found_.empty() ? nullptr : &found_.back(), levels->front().hit_cycles),
                            {}};
      if (auto ok = measure(next); !ok) {
        if (ok.error().kind != Error::Kind::unavailable) return ok;
        next.memory.attributes.erase("size");  // what fits alone
        set_open(next.memory, instructions_method, ok.error().message);
      }
      found_.push_back(std::move(next));
    }
    const auto are_before = leave_out_l2();
    if (!are_before) return tl::unexpected<Error>(are_before.error());
    if (!*are_before) {
      // Names go by how many there are.
      leave_instruction_caches_open(findings_, "whether a cache of code that shows is the L2 can't be told");
      return {};
    }
    if (std::any_of(found_.begin(), found_.end(), [](const auto& cache) { return cache.level.may_be_two; })) {
      leave_instruction_caches_open(findings_,
                                    "jumps take ever longer where one cache should serve them: there may be two");
      return {};
    }
    auto behind =
        found_.empty() ? Expected<std::optional<bool>>(true) : is_l2_behind(session_, findings_, found_.back());
    if (!behind) return tl::unexpected<Error>(behind.error());
    if (!behind->value_or(false)) {
      leave_instruction_caches_open(
          findings_,
          *behind
              ? "what lies behind all the code that can be walked isn't the L2: another cache"
              : "whether the L2 lies behind them isn't known: a neighbour on the GPU left no time to ask, or how much "
                "it holds isn't known either");
      return {};
    }
    for (std::size_t i = 0; i < found_.size(); ++i)
      if (auto ok = tell_blocks_from_lines(found_[i], i == 0 ? 0 : found_[i - 1].level.lost_from_bytes); !ok) return ok;
    const std::vector<FetchLevel> lengths = fetch_levels(session_.info(), found_, findings_);
    name_instruction_caches(session_, std::move(found_), findings_);
    return measure_fetch(session_, lengths, findings_.topology);
  }

 private:
  bool is_first(const InstructionCache& cache) const {
    return cache.level.front_threshold_cycles == 0 && found_.empty();
  }

  // Of what shows, the L2 and what lies behind it: where one is known to lie before the L2, those in front of it do.
  // Whether that could be told.
  Expected<bool> leave_out_l2() {
    const auto before = std::find_if(found_.rbegin(), found_.rend(), [&](const InstructionCache& cache) {
      return is_constants_before_l2(findings_, cache);
    });
    for (auto it = before.base(); it != found_.end(); ++it) {
      auto loses = loses_to_l2(session_, findings_, *it, it == found_.begin() ? block_ : std::prev(it)->facts.stride());
      if (!loses) return tl::unexpected<Error>(loses.error());
      if (*loses && !(*loses)->decided) return false;
      if (!*loses || !(*loses)->is_same()) continue;
      found_.erase(it, found_.end());
      break;
    }
    return true;
  }

  Scope isolation(const InstructionCache& cache) const { return is_first(cache) ? Scope::sm : Scope::gpu; }

  Expected<void> measure(InstructionCache& cache) {
    auto& attributes = cache.memory.attributes;
    cache.memory.id = cache.facts.path.id;
    const Estimate& sector = attributes["sector_size"] =
        fetched_sector(cache.level, block_, found_.empty() ? nullptr : found_.back().memory.find("sector_size"));
    cache.facts.sector_bytes = sector.value ? static_cast<std::uint64_t>(*sector.value) : block_;
    std::uint64_t about = 0;
    if (sector.value) {
      auto fits = measure_fits(cache);
      if (!fits) return tl::unexpected<Error>(fits.error());
      about = *fits;
    } else {
      // Of blocks that others bring along fewer miss than don't fit.
      attributes["size"] = inconclusive("B", "misses", "needs to know what a miss brings in");
      attributes["line_size"] = inconclusive("B", line_method, "needs the size");
      cache.facts.capacity_bytes = cache.level.to_bytes;
    }
    // Where the walk's own code is in the cache, too, a count says no more than what fits beside it: lines in sets of
    // their own tell the size, and it is counted where they don't.
    const bool is_counted_first = session_.info().code_own_bytes == 0 || is_first(cache);
    if (about != 0 && is_counted_first)
      if (auto ok = count_size(cache, about); !ok) return ok;
    auto asked = if_available(measure_spaced(cache));
    if (!asked) return tl::unexpected<Error>(asked.error());
    const std::optional<SpacedCapacity> spaced = asked->value_or(std::nullopt);
    if (about != 0 && !is_counted_first && !spaced)
      if (auto ok = count_size(cache, about); !ok) return ok;
    attributes["miss_penalty"] = penalty_between(cache.level);
    keep_curves(session_, cache.level, cache.facts.path.id, attributes["sector_size"], attributes["miss_penalty"]);
    if (!is_first(cache)) {
      attributes["latency"] = measured(cache.facts.latency_cycles, "cycles", instructions_method, cache.level.samples);
      attributes["latency"].interval = Interval{cache.facts.latency_cycles - cache.level.error_cycles,
                                                cache.facts.latency_cycles + cache.level.error_cycles};
      attributes["latency"].note = "more than a jump to code that the nearest cache has";
    }
    if (auto ok =
            or_undecided(cache.memory, "scope", instructions_method, measure_structure(cache, spaced.has_value()));
        !ok)
      return ok;
    if (spaced) {
      // Structure was asked of what fits beside the walk's own code.
      cache.facts.capacity_bytes = spaced->blocks * block_;
      attributes["ways"] = exactly(static_cast<double>(spaced->ways), "", spaced->rows);
      if (attributes["line_size"].has_value()) state_sets(attributes);
      cache.memory.structure["replacement"] = undecided("spaced_lines",
                                                        "a set loses all of its lines as soon as it is overfull: none "
                                                        "is drawn at random, in what order they go isn't told");
    }
    return or_undecided(cache.memory, "constants", instructions_method, measure_constants_beside_code(session_, cache));
  }

  // A walk asks for the first line of a block alone: shorter ones than that count as whole blocks where they fill all
  // sets all the same (a hash). Code in a row says so.
  Expected<void> tell_blocks_from_lines(InstructionCache& cache, std::uint64_t front_lost_bytes) {
    auto& attributes = cache.memory.attributes;
    Estimate& size = attributes["size"];
    const bool may_be_shorter =
        attributes["line_size"].status != Status::measured && attributes["sector_size"].status == Status::upper_bound;
    if (!may_be_shorter || !size.value || size.status == Status::inconclusive) return {};
    auto loses = if_available(loses_code_in_a_row(session_, static_cast<std::uint64_t>(*size.value), front_lost_bytes));
    if (!loses) return tl::unexpected<Error>(loses.error());
    const std::optional<bool> does_lose = loses->value_or(std::nullopt);
    if (!does_lose && size.status == Status::measured) {
      // Sets by address bits are as full of blocks as of lines: only every other one of lines half as long is asked. So
      // they are where lines a power of two apart share one.
      const auto index = cache.memory.structure.find("index");
      const bool is_by_bits =
          size.method == "spaced_lines" || (index != cache.memory.structure.end() && index->second.value == "modulo");
      if (is_by_bits) return {};
      bound_above(size, "lines may be shorter than the blocks that were counted");
      attributes.erase("sets");
      return {};
    }
    if (!does_lose.value_or(false)) return {};
    size =
        inconclusive("B", "misses", "of code in a row less stays: lines are shorter than the blocks that were counted");
    attributes.erase("sets");
    return {};
  }

  SearchSpec spec_of(const InstructionCache& cache) const {
    FootprintSpec rows;
    rows.path = cache.facts.path;
    rows.stride_bytes = cache.facts.stride();
    rows.isolation = isolation(cache);
    rows.warm_laps = cache.facts.warm_laps;
    rows.front_threshold_cycles = cache.facts.front_threshold_cycles;
    SearchSpec spec;
    spec.count = count_footprints(session_, rows, cache.facts.levels.threshold_cycles);
    spec.sweep = {static_cast<double>(rows.stride_bytes), true, cache.facts.contamination()};
    spec.sweep.own_lines = is_first(cache) && session_.info().code_own_bytes != 0;
    spec.unit_bytes = rows.stride_bytes;
    spec.first_bytes = std::max(cache.level.from_bytes, rows.stride_bytes);
    spec.limit_bytes = session_.info().code_bytes;
    spec.rows = 24;
    spec.memory = cache.facts.path.id;
    return spec;
  }

  // Of sets that the walk's own code makes miss all along a line too many shows in no footprint: as many bytes as miss
  // of what seems to fit, that code's at most.
  double hidden_by_own(const Estimate& fits, const Counts& counts) const {
    Tally at_most;
    for (const Count& c : counts)
      if (c.footprint_bytes == *fits.value) at_most += {static_cast<double>(c.loads), static_cast<double>(c.misses)};
    return std::min(static_cast<double>(session_.info().code_own_bytes), at_most.share() * *fits.value);
  }

  // The line, and what fits, in the size's place: about so many bytes, 0 where that is a bound.
  Expected<std::uint64_t> measure_fits(InstructionCache& cache) {
    auto& attributes = cache.memory.attributes;
    attributes["line_size"] = inconclusive("B", line_method, "needs the size");
    auto fits = search_capacity(session_, spec_of(cache));
    if (!fits) return tl::unexpected<Error>(fits.error());
    Estimate& size = attributes["size"] = estimate_of(*fits, "misses");
    leave_out_front(size, fits->counts, cache.facts.stride());
    if (size.interval)
      size.interval->low = std::min(size.interval->low, *size.value - hidden_by_own(size, fits->counts));
    if (size.status != Status::measured && size.status != Status::inconclusive) return 0;
    const auto about = static_cast<std::uint64_t>(fits->posterior.footprints_bytes[fits->posterior.best()]);
    auto line = if_available(measure_line(session_, cache.facts, about, isolation(cache)));
    if (!line) return tl::unexpected<Error>(line.error());
    if (*line) attributes["line_size"] = **line;
    // A walk asks for the first of a block alone: lines shorter than that look like this one.
    if (*line && (*line)->value == static_cast<double>(block_)) bound_above(attributes["line_size"], by_itself);
    if (*line && (*line)->has_value()) cache.facts.line_bytes = static_cast<std::uint64_t>(*(*line)->value);
    cache.facts.capacity_bytes = about;
    return about;
  }

  // The size by what fits and by what is held of more, beside the walk's own code.
  Expected<void> count_size(InstructionCache& cache, std::uint64_t about) {
    Estimate& size = cache.memory.attributes["size"];
    auto held = if_available(count_held(session_, cache.facts, about, isolation(cache)));
    if (!held) return tl::unexpected<Error>(held.error());
    size = agreed_size(size, *held, static_cast<double>(cache.facts.stride()));
    cache.facts.capacity_bytes = bytes_to_fill(size, *held);
    if (cache.facts.capacity_bytes == 0) cache.facts.capacity_bytes = cache.level.to_bytes;
    if (const std::uint64_t own = session_.info().code_own_bytes; own != 0 && size.has_value())
      bound_below(size, fmt::format("so much fits beside the code that runs between two jumps, {} B at most", own));
    bound_by_lines(size, cache.facts.stride(), cache.facts.levels);
    return {};
  }

  static Estimate exactly(double value, const char* unit, std::uint64_t rows) {
    Estimate e = measured(value, unit, "spaced_lines", rows);
    e.interval = Interval{value, value};
    return e;
  }

  static void state_sets(std::map<std::string, Estimate>& attributes) {
    const Estimate& size = attributes["size"];
    const double sets = *size.value / *attributes["ways"].value / *attributes["line_size"].value;
    if (sets != std::floor(sets)) return;
    attributes["sets"] = exactly(sets, "", size.samples);
    attributes["sets"].note = "as many as hold what was measured";
    if (const Estimate& line = attributes["line_size"]; line.status == Status::upper_bound)
      bound_below(attributes["sets"], line.note);
  }

  // Where the walk's own code is in some of its sets no footprint says the size; rows of lines in others do. Not of the
  // nearest cache: what a fetch brings along fills it, too.
  Expected<std::optional<SpacedCapacity>> measure_spaced(InstructionCache& cache) {
    Estimate& size = cache.memory.attributes["size"];
    const bool is_told = size.status == Status::measured && session_.info().code_own_bytes == 0;
    if (is_first(cache) || is_told) return std::optional<SpacedCapacity>();
    const auto seen = static_cast<double>(cache.level.held_bytes);
    // From where a fifth is lost on: of a single way all are by twice the size.
    const Interval range{std::min(size.value.value_or(seen), seen),
                         2 * static_cast<double>(cache.level.lost_from_bytes)};
    auto found = find_spaced_capacity(session_, cache.facts, block_, range, isolation(cache));
    if (!found) return found;
    const double bytes = *found ? static_cast<double>((*found)->blocks * block_) : 0;
    // Own code that is in every set makes all of them smaller alike.
    const bool some_are_free = *found && (*found)->period * block_ > session_.info().code_own_bytes;
    if (!some_are_free || bytes < size.value.value_or(seen) || bytes > range.high)
      return std::optional<SpacedCapacity>();
    size = exactly(bytes, "B", (*found)->rows);
    size.note = "by lines a power of two apart, in sets that the walk's own code isn't in";
    return found;
  }

  // By itself: what experiments of paths say goes to this cache, whichever it turns out to be. Where lines in sets of
  // their own told its ways, circles through all sets, which the walk's own code is in, tell nothing more.
  Expected<void> measure_structure(InstructionCache& cache, bool has_ways) {
    Findings alone;
    alone.topology.gpu = findings_.topology.gpu;
    alone.caches[std::string(cache.facts.path.id)] = cache.facts;
    alone.topology.memories = {cache.memory};
    if (auto ok = measure_scope(session_, alone, cache.facts.path); !ok) return ok;
    if (is_first(cache))
      if (auto ok = measure_instances(session_, alone, cache.facts.path); !ok) return ok;
    if (has_ways)
      leave_organisation_open(alone.memory(cache.facts.path.id), "spaced_lines", "the walk's own code is in some sets");
    else if (auto ok = measure_organisation(session_, alone, cache.facts.path); !ok)
      return ok;
    cache.memory = std::move(alone.memory(cache.facts.path.id));
    return {};
  }

  Session& session_;
  Findings& findings_;
  std::uint64_t block_;
  std::vector<InstructionCache> found_;
};

}  // namespace

Expected<void> measure_instructions(Session& session, Findings& findings) {
  if (session.info().code_bytes == 0) return {};
  return Instructions(session, findings).run();
}

}  // namespace gputopo::experiments
