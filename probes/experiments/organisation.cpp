// How a cache is organised: sets, ways, which lines collide and which one goes. One mechanism for every path whose
// lines are loaded one by one (document: Mei and Chu 2017, stages 1 and 2; docs/measuring.md).
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "evidence/inference/curves.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/looks/structure.hpp"
#include "evidence/organisation/collisions.hpp"
#include "evidence/organisation/index_function.hpp"
#include "evidence/organisation/replacement.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;

constexpr std::string_view organisation_method = "collisions";

// What a cache may hold, in lines.
struct Lines {
  std::uint64_t least = 0, stated = 0, most = 0;
};

Lines lines_of(const Estimate& size, std::uint64_t line_bytes) {
  const auto line = static_cast<double>(line_bytes);
  const Interval range = size.interval.value_or(Interval{*size.value, *size.value});
  return {static_cast<std::uint64_t>(std::ceil(range.low / line)), static_cast<std::uint64_t>(*size.value / line),
          static_cast<std::uint64_t>(range.high / line)};
}

struct Shape {
  std::uint64_t sets = 0;  // 0: not known
  std::uint64_t ways = 0;  // of each set; 0 where they differ
  std::uint64_t least = 0, most = 0, middle = 0;
  std::string why_open;
};

// Every set seen is a part of the whole: of all of them the sum is what the cache holds; of a sample, equal ones divide
// it. Walked in one order alone, sets that don't go by use or age may lose the same part of their lines each time.
Shape shape_of(const Collisions& seen, const Lines& capacity, bool by_chance, bool in_one_order) {
  constexpr std::size_t enough_sets = 8;
  Shape shape;
  std::vector<std::uint64_t> ways;
  for (const auto& set : seen.sets) ways.push_back(set.size() - 1);
  std::sort(ways.begin(), ways.end());
  shape.least = ways.front();
  shape.most = ways.back();
  shape.middle = ways[ways.size() / 2];
  const bool differ = shape.least != shape.most;
  if (!differ) shape.ways = shape.least;
  // Two sets taken for one, or parts of a set for sets, come out as sets that differ, or don't add up to the line.
  const bool add_up = seen.held_lines == capacity.stated && (!differ || capacity.least == capacity.most);
  const bool may_be_parts =
      seen.complete ? (by_chance && (differ || !add_up)) || (differ && !add_up) : by_chance && in_one_order;
  if (may_be_parts) {
    shape.why_open = fmt::format(
        "{} set{} of {} ways {} seen, which needn't be whole sets", ways.size(), ways.size() == 1 ? "" : "s",
        differ ? fmt::format("{} to {}", shape.least, shape.most) : fmt::format("{}", shape.least),
        ways.size() == 1 ? "was" : "were");
    return shape;
  }
  if (seen.complete && seen.held_lines >= capacity.least && seen.held_lines <= capacity.most) shape.sets = ways.size();
  // The one multiple of the ways that the size leaves.
  if (!seen.complete && shape.ways != 0 && ways.size() >= enough_sets &&
      capacity.most / shape.ways == (capacity.least + shape.ways - 1) / shape.ways)
    shape.sets = capacity.most / shape.ways;
  if (shape.sets != 0) return shape;
  shape.why_open = seen.complete
                       ? fmt::format("{} sets were seen, which hold {} lines together, and the cache {}", ways.size(),
                                     seen.held_lines, capacity.most)
                       : fmt::format("{} sets were seen, of {} to {} ways, which don't make up the cache's {} lines",
                                     ways.size(), shape.least, shape.most, capacity.most);
  return shape;
}

Estimate counted_organisation(std::uint64_t value, const Collisions& seen) {
  return measured(static_cast<double>(value), "", organisation_method, seen.samples);
}

void state_shape(Memory& memory, const Shape& shape, const Collisions& seen) {
  auto& attributes = memory.attributes;
  if (shape.sets == 0) {
    leave_organisation_open(memory, organisation_method, shape.why_open);
    return;
  }
  attributes["sets"] = counted_organisation(shape.sets, seen);
  attributes["sets"].note = seen.complete
                                ? "every one of them was seen to overflow"
                                : fmt::format("{} of them were seen to overflow, all alike", seen.sets.size());
  Estimate& ways = attributes["ways"] = counted_organisation(shape.middle, seen);
  ways.interval = Interval{static_cast<double>(shape.least), static_cast<double>(shape.most)};
  ways.interval_kind = "range";
  if (shape.ways == 0) ways.note = fmt::format("the sets differ: {} to {} ways", shape.least, shape.most);
}

void state_index(Memory& memory, const IndexFunction& f) {
  using Kind = IndexFunction::Kind;
  Estimate& together = memory.attributes["consecutive_lines"];
  if (f.kind == Kind::unknown) {
    memory.structure["index"] = undecided(organisation_method, f.detail);
    together = inconclusive("", organisation_method, f.detail);
    return;
  }
  memory.structure["index"] = decided(std::string(to_string(f.kind)), organisation_method, f.checks);
  memory.structure["index"].note = f.detail;
  if (f.kind == Kind::none)
    together = not_supported("", "one set holds all lines");
  else if (f.consecutive_lines == 0)
    together = inconclusive("", organisation_method, "of so few sets neighbours may share one by chance");
  else
    together = measured(f.consecutive_lines, "", organisation_method, f.checks);
}

void state_replacement(Memory& memory, const Replacement& found) {
  Statement& s = memory.structure["replacement"] = found.policy.empty()
                                                       ? undecided(organisation_method, found.excluded)
                                                       : decided(found.policy, organisation_method, found.samples);
  s.note = found.excluded;
}

// Which set each line was seen in; the first ones, which show the pattern.
DecidingCurve sets_curve(std::string_view memory, const Collisions& seen) {
  constexpr std::size_t most_lines = 256;
  Series series{"seen to collide", {}};
  for (std::size_t set = 0; set < seen.sets.size(); ++set)
    for (const std::uint64_t line : seen.sets[set])
      series.points.emplace_back(static_cast<double>(line), static_cast<double>(set));
  std::sort(series.points.begin(), series.points.end());
  if (series.points.size() > most_lines) series.points.resize(most_lines);
  DecidingCurve curve =
      make_curve(memory, "sets", {"line", "", false}, {"set, by the order in which they overflow", "", false});
  curve.series = {std::move(series)};
  return curve;
}

bool has(const Memory& memory, const char* name, Status status) {
  const Estimate* e = memory.find(name);
  return e != nullptr && e->status == status;
}

// Of lines that may be shorter than what was walked by, the first of each was: there may be more sets, between those
// that were seen.
void allow_for_shorter_lines(Memory& memory) {
  const std::string& why = memory.find("line_size")->note;
  if (Estimate& sets = memory.attributes["sets"]; sets.has_value()) bound_below(sets, why);
  memory.attributes["consecutive_lines"] = inconclusive("", organisation_method, "needs the line size");
  if (const auto index = memory.structure.find("index"); index != memory.structure.end()) index->second.note = why;
}

std::string why_not(const CacheFacts* cache, const Memory& memory) {
  if (!has(memory, "size", Status::measured)) return "needs the size";
  const bool is_line_known =
      has(memory, "line_size", Status::measured) || has(memory, "line_size", Status::upper_bound);
  if (!is_line_known || cache->line_bytes == 0) return "needs the line size";
  return cache->can_be_filled() ? "" : "hits and misses can't be told apart well enough";
}

}  // namespace

Expected<void> measure_organisation(Session& session, Findings& findings, const CachePath& path) {
  const CacheFacts* cache = findings.cache(path.id);
  if (cache == nullptr || !cache->present) return {};
  Memory& memory = findings.memory(path.id);
  if (const std::string why = why_not(cache, memory); !why.empty()) {
    leave_organisation_open(memory, organisation_method, why);
    return {};
  }
  // Caches behind another belong to several SMs.
  const bool is_behind = cache->front_line_bytes != 0 || cache->front_capacity_bytes != 0;
  Circles circles(session, *cache, is_behind ? Scope::gpu : Scope::sm);
  auto seen = find_collisions(circles, cache->capacity_bytes / cache->line_bytes);
  if (!seen) return tl::unexpected<Error>(seen.error());
  return tell_organisation(circles, *seen, memory, cache->line_bytes);
}

void leave_organisation_open(Memory& memory, std::string_view method, std::string_view why) {
  for (const char* name : {"sets", "ways", "consecutive_lines"})
    memory.attributes[name] = inconclusive("", method, why);
  for (const char* name : {"index", "replacement"}) memory.structure[name] = undecided(method, why);
}

Expected<void> tell_organisation(Circles& circles, const Collisions& seen, Memory& memory, std::uint64_t line_bytes,
                                 const CountedSets& counted) {
  if (!seen.why_open.empty() || seen.sets.empty()) {
    leave_organisation_open(memory, organisation_method,
                            seen.why_open.empty() ? "no set was seen to overflow" : seen.why_open);
    return {};
  }
  circles.session().keep(sets_curve(circles.cache().path.id, seen));
  auto replacement = find_replacement(circles, seen, seen.sets.front().size() - 1);
  if (!replacement) return tl::unexpected<Error>(replacement.error());
  // Of one or two ways policies are alike that aren't in larger sets.
  const bool in_order = (replacement->policy == "lru" || replacement->policy == "fifo") && seen.sets.front().size() > 3;
  Shape shape = shape_of(seen, lines_of(*memory.find("size"), line_bytes), !in_order, !circles.has_other_orders());
  if (counted.ways != 0 && shape.ways == counted.ways) shape.sets = counted.sets;
  state_shape(memory, shape, seen);
  const bool may_be_another = shape.sets == 0 || (shape.ways == 0 && seen.sets.front().size() - 1 <= 2);
  if (may_be_another)
    *replacement = {{}, "lines that were seen to go together may be of two sets or of a part of one", 0};
  if (shape.sets != 0) state_index(memory, index_function(seen, shape.sets, shape.ways, line_bytes));
  state_replacement(memory, *replacement);
  if (has(memory, "line_size", Status::upper_bound)) allow_for_shorter_lines(memory);
  return {};
}

}  // namespace gputopo::experiments
