// How a constant L1.5 that is larger than a bank is organised, by the banks of several modules. Each of their kernels
// brings lines of its own, so a circle over all the cache holds never comes to rest; lines as far apart as those of one
// set do, in all the sets that no kernel happens to use (Wong et al. 2010, 'stride'; docs/measuring.md, 'How a cache is
// organised').
#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "evidence/inference/curves.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/inference/histogram.hpp"
#include "evidence/looks/banks.hpp"
#include "evidence/looks/footprint.hpp"
#include "evidence/looks/structure.hpp"
#include "evidence/organisation/policy_sequences.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;
using program::Record;
using program::Walk;

constexpr std::string_view by_stride = "stride_of_a_set";
constexpr std::uint32_t rounds_looked_at = 8;  // of a row's lines
constexpr std::uint64_t most_places = 12;      // looked at of one distance: sets that kernels use are among them

// Lines `distance` apart from line `first` on.
struct Row {
  std::uint64_t first = 0, distance = 0;
};

// What became of lines that were asked for in turns.
enum class Fate {
  fit,
  lost,
  unseen,  // the cache in front answered so many loads that a miss in each round may not have shown
};

// Whether as many lines a distance apart fit as sets that far apart have ways, and a line more.
struct Fit {
  Row row;
  Fate as_many = Fate::unseen, one_more = Fate::unseen;
};

// All rows of one distance.
struct Distance {
  std::uint64_t lines = 0, ways = 0;
  std::vector<Fit> rows;
  std::size_t full() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(rows, [](const Fit& f) { return f.as_many == Fate::fit && f.one_more == Fate::lost; }));
  }
  std::size_t crowded() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(rows, [](const Fit& f) { return f.as_many == Fate::lost || f.one_more == Fate::lost; }));
  }
  std::size_t roomy() const {
    return static_cast<std::size_t>(std::ranges::count_if(rows, [](const Fit& f) { return f.one_more == Fate::fit; }));
  }
  /// The lines of each row share a set, and one of a cache that holds as many of them as it should.
  bool is_of_a_set() const { return 2 * full() > rows.size() && roomy() == 0; }
  /// A line more than ways would be finds room, and isn't answered for by the cache in front.
  bool is_longer() const { return 2 * roomy() > rows.size() && full() == 0; }
  bool is_contradiction() const { return 2 * crowded() >= rows.size(); }
};

class Banks {
 public:
  Banks(Session& session, const CacheFacts& cache)
      : session_(session), cache_(cache), turns_(turns_of_line(cache.line_bytes, cache.front_line_bytes)) {}

  std::uint64_t room_lines() const { return cache_.bank_bytes * session_.info().constant_modules / cache_.line_bytes; }

  // Misses of ways lines and of a line more, each row in turn.
  Expected<void> look(std::vector<Distance>& distances) {
    program::Batch batch;
    for (const Distance& d : distances)
      for (const Fit& f : d.rows)
        for (const std::uint64_t lines : {d.ways, d.ways + 1}) batch.push_back(rounds(f.row, lines));
    auto traces = session_.run(batch);
    if (!traces) return tl::unexpected<Error>(traces.error());
    std::size_t next = 0;
    for (Distance& d : distances)
      for (Fit& f : d.rows) {
        f.as_many = fate_of((*traces)[next++]);
        f.one_more = fate_of((*traces)[next++]);
      }
    return {};
  }

  // What a row's lines lose of each sequence. In some looks a kernel's own line comes into the set.
  Expected<std::vector<SequenceMisses>> lose(const Row& row, std::uint32_t ways) {
    constexpr std::size_t looks = 3;
    const auto sequences = telling_sequences(ways + 1);
    program::Batch batch;
    for (const auto& sequence : sequences) batch.insert(batch.end(), looks, one_by_one(row, ways, sequence));
    auto traces = session_.run(batch);
    if (!traces) return tl::unexpected<Error>(traces.error());
    std::vector<SequenceMisses> all;
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      std::vector<SequenceMisses> seen;
      for (std::size_t k = 0; k < looks; ++k) seen.push_back(misses_of((*traces)[i * looks + k], sequences[i], ways));
      all.push_back(best_explained(seen));
    }
    return all;
  }

  // Whether there are constants enough to push out all that a set had before a sequence.
  bool can_be_emptied(const Distance& sets) const {
    return room_lines() >= behind({0, sets.lines}, sets.ways) + cache_.capacity_bytes / cache_.line_bytes;
  }

 private:
  program::Program make(const Row& row, std::uint64_t lines) const {
    program::Program p =
        make_program(fmt::format("{} {} lines, {} apart from {}", cache_.path.id, lines, row.distance, row.first),
                     session_.info(), cache_.path.slot);
    p.isolation = Scope::gpu;
    add_banks(p, cache_.bank_bytes, (row.first + (lines - 1) * row.distance + 1) * cache_.line_bytes);
    return p;
  }

  // Each time that a line's turn comes it is asked for another part of it, which the cache in front hasn't.
  void add(program::Program& p, const Row& row, std::uint64_t from, std::uint64_t lines, std::uint64_t turn,
           Record record) const {
    const std::uint64_t stride = row.distance * cache_.line_bytes;
    Walk walk = make_walk(cache_.path, lines * stride, stride, 1);
    walk.first_byte = row.first * cache_.line_bytes + from * stride + turn % turns_ * cache_.front_line_bytes;
    if (record != Record::nothing) walk = recorded(walk, record, 1);
    for (const Walk& part : over_banks(walk, cache_.bank_bytes, cache_.front_line_bytes)) p.phases.emplace_back(part);
  }

  // Rows beside it, each in sets of its own, so that the cache in front doesn't keep the row itself from one round to
  // the next.
  std::uint64_t beside(std::uint64_t lines, std::uint64_t distance) const {
    const std::uint64_t in_front = cache_.front_capacity_bytes / cache_.front_line_bytes;
    constexpr std::uint64_t most = 16;                                    // phases of a program
    const std::uint64_t sets = std::max<std::uint64_t>(1, distance / 2);  // as many may be all there are
    return lines >= 2 * in_front ? 0 : std::min({most, sets - 1, 2 * in_front / lines});
  }

  program::Program rounds(const Row& row, std::uint64_t lines) const {
    constexpr std::uint32_t warm_rounds = 4;
    program::Program p = make({row.distance - 1, row.distance}, lines);
    for (std::uint32_t i = 0; i < warm_rounds + rounds_looked_at; ++i) {
      add(p, row, 0, lines, i, i < warm_rounds ? Record::nothing : Record::histogram);
      for (std::uint64_t other = beside(lines, row.distance); other > 0; --other)
        add(p, {(row.first + other) % row.distance, row.distance}, 0, lines, i, Record::nothing);
    }
    return p;
  }

  // The first line behind a row of one more than its ways.
  static std::uint64_t behind(const Row& row, std::uint64_t ways) { return row.first + (ways + 1) * row.distance; }

  // All caches full of what lies behind the row; then its lines in a sequence, each a phase. One load's histogram is
  // its latency, and kernels that keep no list of them are short: they bring fewer lines of their own.
  program::Program one_by_one(const Row& row, std::uint32_t ways, const std::vector<std::uint32_t>& sequence) const {
    program::Program p = make(row, room_lines() / row.distance);
    const std::uint64_t from = behind(row, ways) * cache_.line_bytes;
    Walk others = make_walk(cache_.path, room_lines() * cache_.line_bytes - from, cache_.front_line_bytes, 1);
    others.first_byte = from;
    for (const Walk& part : over_banks(others, cache_.bank_bytes, cache_.front_line_bytes)) p.phases.emplace_back(part);
    std::vector<std::uint64_t> turns(ways + 1, 0);
    for (const std::uint32_t line : sequence) add(p, row, line, 1, turns[line]++, Record::histogram);
    return p;
  }

  static std::vector<std::uint32_t> recorded_latencies(const program::ProgramTrace& trace) {
    std::vector<std::uint32_t> all;
    for (const auto& phase : trace.phases)
      for (const auto& bin : phase.histogram) all.push_back(bin.latency_cycles);
    return all;
  }

  Fate fate_of(const program::ProgramTrace& trace) const {
    const Histogram timed = recorded_histogram(trace);
    const auto told = static_cast<double>(count_from(timed, cache_.front_threshold_cycles));
    const auto missed = static_cast<double>(count_from(timed, cache_.levels.threshold_cycles));
    // What is one too many costs a set of n lines a miss in each round at least, an n-th of all.
    const double expected = std::max(1e-5, cache_.levels.false_miss) * told;
    const double by_chance = 2 + expected + 6 * std::sqrt(expected);
    if (told * rounds_looked_at <= by_chance * static_cast<double>(total(timed))) return Fate::unseen;
    return missed <= by_chance ? Fate::fit : Fate::lost;
  }

  // What the cache in front answered never reached the set. The first quarter of what did doesn't count.
  SequenceMisses misses_of(const program::ProgramTrace& trace, const std::vector<std::uint32_t>& sequence,
                           std::uint32_t ways) const {
    std::vector<std::uint32_t> arrived;
    std::vector<bool> missed;
    const std::vector<std::uint32_t> cycles = recorded_latencies(trace);
    for (std::size_t i = 0; i < cycles.size(); ++i) {
      if (cycles[i] < cache_.front_threshold_cycles) continue;
      arrived.push_back(sequence.at(i));
      missed.push_back(cycles[i] >= cache_.levels.threshold_cycles);
    }
    return misses_by_load(ways, arrived, arrived.size() / 4, missed);
  }

  Session& session_;
  const CacheFacts& cache_;
  std::uint64_t turns_;
};

// Every power of two that divides the lines, as far as there are constants for a line more than fits.
std::vector<Distance> distances_of(std::uint64_t capacity_lines, std::uint64_t room_lines) {
  std::vector<Distance> all;
  for (std::uint64_t distance = 2; distance <= capacity_lines; distance *= 2) {
    Distance d{distance, capacity_lines / distance, {}};
    if (capacity_lines % distance != 0 || (d.ways + 1) * distance > room_lines) continue;
    const std::uint64_t places = std::min(most_places, distance);
    for (std::uint64_t i = 0; i < places; ++i) d.rows.push_back({{distance * i / places, distance}});
    all.push_back(std::move(d));
  }
  return all;
}

DecidingCurve distances_curve(std::string_view memory, const std::vector<Distance>& distances,
                              std::uint64_t line_bytes) {
  DecidingCurve curve = make_curve(memory, "sets", {"distance of lines", "B", true},
                                   {"share of places where just as many fit as ways would be", "", false});
  Series series{"as many and no more", {}};
  for (const Distance& d : distances)
    series.points.emplace_back(static_cast<double>(d.lines * line_bytes),
                               static_cast<double>(d.full()) / static_cast<double>(d.rows.size()));
  curve.series = {std::move(series)};
  return curve;
}

// The longest distance at which lines share a set, beyond which they still do and are fewer than it holds.
const Distance* sets_apart(const std::vector<Distance>& distances) {
  const Distance* found = nullptr;
  for (const Distance& d : distances) {
    if (d.is_of_a_set()) found = &d;
    // At twice that distance half as many lines would have to overflow a set, and fit with room to spare. Even fewer
    // the cache in front may answer for.
    else if (found != nullptr && (d.lines == 2 * found->lines ? !d.is_longer() : d.is_contradiction()))
      return nullptr;
  }
  return found;
}

void state_sets_by_stride(Memory& memory, const Distance& sets, std::uint64_t line_bytes) {
  const auto counted = [&](std::uint64_t value) {
    return measured(static_cast<double>(value), "", by_stride, sets.rows.size());
  };
  memory.attributes["sets"] = counted(sets.lines);
  memory.attributes["sets"].note =
      fmt::format("{} lines that far apart fit and {} don't, in {} of {} places; the others are the kernels' own",
                  sets.ways, sets.ways + 1, sets.full(), sets.rows.size());
  memory.attributes["ways"] = counted(sets.ways);
  memory.attributes["ways"].interval = Interval{static_cast<double>(sets.ways), static_cast<double>(sets.ways)};
  memory.attributes["consecutive_lines"] = counted(1);
  Statement& index = memory.structure["index"] = decided("modulo", by_stride, sets.full());
  index.note =
      fmt::format("address bits {} to {}", std::countr_zero(line_bytes), std::countr_zero(line_bytes * sets.lines) - 1);
}

Expected<void> measure_replacement(Session& session, Banks& banks, const Distance& sets, Memory& memory) {
  constexpr std::size_t enough_sets = 3;
  if (sets.ways == 1) {
    memory.structure["replacement"] = decided("none", by_stride, sets.full());
    return {};
  }
  if (!banks.can_be_emptied(sets)) {
    memory.structure["replacement"] = undecided(by_stride, "too few constants to push out what a set had before");
    return {};
  }
  PolicyVote vote(sets.ways + 1);
  std::size_t explained = 0;
  for (std::size_t i = 0; i < sets.rows.size() && explained < enough_sets; ++i) {
    auto lost = banks.lose(sets.rows[i].row, static_cast<std::uint32_t>(sets.ways));
    if (!lost) return tl::unexpected<Error>(lost.error());
    explained += vote.add(std::move(*lost)) ? 1 : 0;
  }
  session.keep(vote.curve(memory.id));
  memory.structure["replacement"] = vote.statement(by_stride, sets.rows.size());
  return {};
}

std::string why_no_banks(const CacheFacts& cache, const Memory& memory) {
  const Estimate* size = memory.find("size");
  if (size == nullptr || size->status != Status::measured) return "needs the size";
  const Estimate* line = memory.find("line_size");
  if (line == nullptr || line->status != Status::measured) return "needs the line size";
  return cache.can_be_filled() ? "" : "hits and misses can't be told apart well enough";
}

}  // namespace

Expected<void> measure_constant_l1_5_organisation(Session& session, Findings& findings) {
  CacheFacts* cache = findings.cache(constant_l1_5_path.id);
  if (cache == nullptr || !cache->present) return {};
  if (cache->bank_bytes == 0) return measure_organisation(session, findings, constant_l1_5_path);
  Memory& memory = findings.memory(constant_l1_5_path.id);
  if (const std::string why = why_no_banks(*cache, memory); !why.empty()) {
    leave_organisation_open(memory, by_stride, why);
    return {};
  }
  Banks banks(session, *cache);
  std::vector<Distance> distances = distances_of(cache->capacity_bytes / cache->line_bytes, banks.room_lines());
  if (auto ok = banks.look(distances); !ok) return ok;
  session.keep(distances_curve(memory.id, distances, cache->line_bytes));
  const Distance* sets = sets_apart(distances);
  if (sets == nullptr) {
    leave_organisation_open(memory, by_stride,
                            "at no distance of a power of two do lines fall into one set, in most places");
    return {};
  }
  state_sets_by_stride(memory, *sets, cache->line_bytes);
  return measure_replacement(session, banks, *sets, memory);
}

}  // namespace gputopo::experiments
