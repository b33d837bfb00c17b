#include "program/program.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace gputopo::program {
namespace {

Space space_of(Path path) {
  if (path == Path::constant) return Space::constant;
  if (path == Path::shared) return Space::shared;
  if (path == Path::instruction) return Space::code;
  return Space::global;
}

tl::unexpected<Error> bad(const Program& program, std::size_t phase, std::string_view why) {
  return fail(Error::Kind::bad_input, fmt::format("program '{}', phase {}: {}", program.label, phase, why));
}

// A walk that holds what it brought in for the agent's next phase.
Expected<void> check_held(const Program& program, std::size_t index) {
  const HeldPhases held = held_phases(program, index);
  if (held.look == 0) return bad(program, index, "holds code for other than walks over code");
  const auto &fill = std::get<Walk>(program.phases[index]), &look = std::get<Walk>(program.phases[held.look]);
  const bool is_plain = fill.record == Record::nothing && fill.laps == 1 && look.record == Record::histogram &&
                        look.lead_loads == 0 && look.laps == 1;
  if (!is_plain) return bad(program, index, "holds code for more than one lap to be recorded");
  if (held.here > 1 || (held.here == 1 && held.elsewhere != 0))
    return bad(program, index, "holds code for several walks on its SM");
  return {};
}

Expected<void> check(const Program& program, std::size_t index, const Walk& w) {
  if (w.agent >= program.agents.size()) return bad(program, index, "names an agent that isn't there");
  if (w.buffer >= program.buffers.size()) return bad(program, index, "names a buffer that isn't there");
  const Buffer& buffer = program.buffers[w.buffer];
  if (buffer.space != space_of(w.path)) return bad(program, index, "its path doesn't fit the buffer's space");
  if (w.stride_bytes == 0 || w.stride_bytes % 4 != 0) return bad(program, index, "its stride is no multiple of 4");
  if (w.first_byte % 4 != 0) return bad(program, index, "its first byte is not aligned to 4");
  if (w.footprint_bytes < 4 || w.first_byte > buffer.size_bytes || w.footprint_bytes > buffer.size_bytes - w.first_byte)
    return bad(program, index, "walks outside its buffer");
  if (w.laps == 0 || w.lanes == 0) return bad(program, index, "has no laps or no lanes");
  if (w.lanes > 1 && w.record != Record::nothing) return bad(program, index, "records with several lanes");
  if (w.path == Path::global_store && (w.record != Record::nothing || w.lanes > 1))
    return bad(program, index, "records stores, for which nothing waits, or stores by several lanes");
  if (w.order == Order::skipping && std::gcd(w.order_seed, positions(w)) != 1)
    return bad(program, index, "skips by a step that shares a factor with its positions");
  if (w.tail_step != 0 && (w.lead_loads == 0 || w.tail_first >= positions(w) || w.tail_step >= positions(w)))
    return bad(program, index, "ends in loads outside its positions, or in nothing else");
  if (w.lead_loads != 0 && (w.record != Record::histogram || w.laps != 1 || w.lead_loads >= lap_loads(w)))
    return bad(program, index, "leaves out loads that it can't leave out");
  const bool has_leads = w.path == Path::global_cached || w.path == Path::read_only || w.path == Path::texture ||
                         w.path == Path::constant || w.path == Path::instruction;
  if (w.lead_loads != 0 && !has_leads) return bad(program, index, "leaves out loads of a path that has no leads");
  const bool is_code = w.path == Path::instruction;
  if (is_code && (w.lanes > 1 || w.record == Record::lap_time || w.record == Record::lap_times))
    return bad(program, index, "jumps by several lanes, or in laps timed as a whole");
  return w.holds ? check_held(program, index) : Expected<void>();
}

Expected<void> check(const Program& program, std::size_t index, const Execute& e) {
  if (e.agent >= program.agents.size()) return bad(program, index, "names an agent that isn't there");
  if (e.code_bytes == 0 || e.laps == 0) return bad(program, index, "executes nothing");
  return {};
}

}  // namespace

HeldPhases held_phases(const Program& program, std::size_t index) {
  HeldPhases held;
  const auto& fill = std::get<Walk>(program.phases[index]);
  for (std::size_t i = index + 1; i < program.phases.size(); ++i) {
    const auto* walk = std::get_if<Walk>(&program.phases[i]);
    if (walk == nullptr || walk->path != Path::instruction || walk->holds || walk->agent >= program.agents.size())
      return {};
    if (walk->agent == fill.agent && walk->record != Record::nothing) {
      held.look = held.here + held.elsewhere == 0 ? 0 : i;
      return held;
    }
    if (walk->record != Record::nothing) return {};
    const bool is_here = program.agents[walk->agent].sm == program.agents[fill.agent].sm;
    ++(is_here ? held.here : held.elsewhere);
  }
  return {};
}

std::string_view to_string(Path path) {
  switch (path) {
    case Path::global_cached:
      return "global_cached";
    case Path::global_l2_only:
      return "global_l2_only";
    case Path::global_no_allocate:
      return "global_no_allocate";
    case Path::read_only:
      return "read_only";
    case Path::texture:
      return "texture";
    case Path::constant:
      return "constant";
    case Path::shared:
      return "shared";
    case Path::instruction:
      return "instruction";
    case Path::global_store:
      return "global_store";
  }
  return "?";
}

std::string_view to_string(Space space) {
  switch (space) {
    case Space::global:
      return "global";
    case Space::constant:
      return "constant";
    case Space::shared:
      return "shared";
    case Space::code:
      return "code";
  }
  return "?";
}

std::string_view to_string(Order order) {
  switch (order) {
    case Order::forward:
      return "forward";
    case Order::reverse:
      return "reverse";
    case Order::shuffled:
      return "shuffled";
    case Order::skipping:
      return "skipping";
  }
  return "?";
}

std::string_view to_string(Record record) {
  switch (record) {
    case Record::nothing:
      return "nothing";
    case Record::lap_time:
      return "lap_time";
    case Record::histogram:
      return "histogram";
    case Record::latencies:
      return "latencies";
    case Record::lap_times:
      return "lap_times";
  }
  return "?";
}

std::uint64_t positions(const Walk& walk) {
  return std::max<std::uint64_t>(1, walk.footprint_bytes / std::max<std::uint64_t>(1, walk.stride_bytes));
}

std::uint64_t lap_loads(const Walk& walk) {
  return walk.loads_per_lap != 0 ? walk.loads_per_lap : positions(walk);
}

const Walk* laid_chase(const Phase& phase) {
  const auto* walk = std::get_if<Walk>(&phase);
  const bool chases = walk != nullptr && (walk->record == Record::lap_time || walk->record == Record::lap_times);
  return chases && walk->path != Path::shared ? walk : nullptr;
}

std::optional<std::uint64_t> texture_part(const Walk& walk, std::uint64_t elements) {
  const std::uint64_t bytes = 4 * elements;
  if (bytes == 0) return std::nullopt;
  const std::uint64_t part = walk.first_byte / bytes;
  if (part != 0 && (walk.record != Record::nothing || walk.lanes > 1 || walk.laps > 1)) return std::nullopt;
  const std::uint64_t last = (positions(walk) - 1) * walk.stride_bytes;
  const bool is_within = walk.first_byte % bytes + last + 4 <= bytes;
  return is_within ? std::optional(part) : std::nullopt;
}

bool is_store(const Phase& phase) {
  const auto* walk = std::get_if<Walk>(&phase);
  return walk != nullptr && walk->path == Path::global_store;
}

const Walk* changed_words(const Phase& phase) {
  return is_store(phase) ? &std::get<Walk>(phase) : laid_chase(phase);
}

std::uint64_t laid_loads(const Walk& walk) {
  return std::min(lap_loads(walk), positions(walk));
}

namespace {

bool stores(const Walk& walk) {
  return walk.path == Path::global_store;
}

bool are_same_words(const Walk& a, const Walk& b) {
  return stores(a) == stores(b) && a.first_byte == b.first_byte && a.footprint_bytes == b.footprint_bytes &&
         a.stride_bytes == b.stride_bytes && a.order == b.order && a.order_seed == b.order_seed &&
         laid_loads(a) == laid_loads(b) && (a.path == Path::texture) == (b.path == Path::texture);
}

bool lie_together(const Walk& a, const Walk& b) {
  const bool apart =
      a.first_byte + a.footprint_bytes <= b.first_byte || b.first_byte + b.footprint_bytes <= a.first_byte;
  return apart || (stores(a) && stores(b)) || are_same_words(a, b);
}

}  // namespace

bool ChangedWords::may_be_joined_by(const Walk& walk) const {
  const std::uint64_t end = walk.first_byte + walk.footprint_bytes;
  const auto last = by_first_byte_.lower_bound(end);
  for (auto it = by_first_byte_.lower_bound(walk.first_byte - std::min(walk.first_byte, longest_bytes_)); it != last;
       ++it)
    if (!lie_together(walk, *it->second)) return false;
  return true;
}

void ChangedWords::add(const Walk& walk) {
  const auto [begin, end] = by_first_byte_.equal_range(walk.first_byte);
  if (std::any_of(begin, end, [&](const auto& other) { return are_same_words(walk, *other.second); })) return;
  by_first_byte_.emplace(walk.first_byte, &walk);
  longest_bytes_ = std::max(longest_bytes_, walk.footprint_bytes);
}

namespace {

Expected<void> check_chases(const Program& program) {
  std::map<std::pair<bool, std::uint32_t>, ChangedWords> changed;
  for (std::size_t i = 0; i < program.phases.size(); ++i) {
    const Walk* walk = changed_words(program.phases[i]);
    if (walk == nullptr) continue;
    // In constant memory a module has one bank, whichever buffers lie in it.
    const Buffer& buffer = program.buffers[walk->buffer];
    const bool is_bank = buffer.space == Space::constant;
    ChangedWords& words = changed[{is_bank, is_bank ? buffer.module : walk->buffer}];
    if (!words.may_be_joined_by(*walk))
      return bad(program, i,
                 "times laps of a walk over bytes that another one lays or stores to; give each walk bytes of its own");
    words.add(*walk);
  }
  return {};
}

}  // namespace

std::optional<std::uint32_t> asked_buffer(const Program& program) {
  const Walk* first = program.phases.empty() ? nullptr : std::get_if<Walk>(&program.phases.front());
  if (!program.asks_address || first == nullptr) return std::nullopt;
  return program.buffers[first->buffer].space == Space::global ? std::optional(first->buffer) : std::nullopt;
}

Expected<void> validate(const Program& program) {
  if (program.agents.empty()) return bad(program, 0, "has no agent");
  if (program.carve_out_percent > 100) return bad(program, 0, "asks for a carve-out above 100 percent");
  for (std::size_t i = 0; i < program.phases.size(); ++i)
    if (auto ok = std::visit([&](const auto& p) { return check(program, i, p); }, program.phases[i]); !ok) return ok;
  return check_chases(program);
}

}  // namespace gputopo::program
