#include "experiments/instruction_names.hpp"

#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "evidence/inference/estimates.hpp"
#include "evidence/looks/structure.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;

constexpr std::string_view constants_id = "constant_l1_5";

bool has_l2(const device::DeviceInfo& info, Findings& findings) {
  const CacheFacts* l2 = findings.cache("l2");
  return (l2 != nullptr && l2->present) || info.l2_bytes != 0;
}

void take_curve(Session& session, std::string_view from, std::string_view to, std::string_view quantity) {
  for (DecidingCurve curve : session.curves()) {
    if (curve.memory != from || curve.quantity != quantity) continue;
    curve.memory = to;
    return session.keep(std::move(curve));
  }
}

// Code that a cache replaces by chance, or beside constants, doesn't show its size, nor in what order a full set lets
// go of its lines; constants of the same one may.
void take_from(const Memory& same, Memory& memory, Session& session) {
  const std::string note = fmt::format("one cache with {}, of which this is", same.id);
  for (const char* name : {"size", "line_size", "sets", "ways", "consecutive_lines"}) {
    const Estimate* known = same.find(name);
    if (known == nullptr || known->status != Status::measured) continue;
    const Estimate* own = memory.find(name);
    const bool is_within = own != nullptr && own->status == Status::lower_bound && *own->value <= *known->value;
    if (own != nullptr && own->status != Status::inconclusive && !is_within) continue;
    memory.attributes[name] = *known;
    memory.attributes[name].note = note;
    take_curve(session, same.id, memory.id, name);
  }
  for (const char* name : {"index", "replacement"}) {
    const auto known = same.structure.find(name);
    const auto own = memory.structure.find(name);
    if (known == same.structure.end() || known->second.status != Status::measured) continue;
    if (own != memory.structure.end() && own->second.status == Status::measured) continue;
    memory.structure[name] = known->second;
    memory.structure[name].note = note;
    take_curve(session, same.id, memory.id, name);
  }
}

// Capacities of one cache, and of two: counts are off by a tenth. Less than all that a cache holds may lose some of it.
constexpr double alike = 1.1, apart = 1.5, far_more = 4;

// Whether there is none, for sure.
bool is_absent(std::string_view id, const Findings& findings) {
  const Memory* memory = findings.topology.find(id);
  const Estimate* latency = memory == nullptr ? nullptr : memory->find("latency");
  return latency != nullptr && latency->status == Status::not_supported;
}

// 0 where it isn't there or isn't known.
double capacity_of(std::string_view id, Findings& findings) {
  const CacheFacts* cache = findings.cache(id);
  return cache == nullptr || !cache->present ? 0 : static_cast<double>(cache->capacity_bytes);
}

// What the constants' L1.5 holds, unless code is known not to pass it.
std::uint64_t code_in_constants(Findings& findings) {
  const Memory* memory = findings.topology.find(constants_id);
  if (memory == nullptr) return 0;
  const auto code = memory->structure.find("code");
  const bool is_apart = code != memory->structure.end() && code->second.value == "apart";
  return is_apart ? 0 : static_cast<std::uint64_t>(capacity_of(constants_id, findings));
}

// Not that it is a bound.
bool is_measured(std::string_view id, const Findings& findings) {
  const Memory* memory = findings.topology.find(id);
  const Estimate* size = memory == nullptr ? nullptr : memory->find("size");
  return size != nullptr && size->status == Status::measured;
}

// Whether a cache that code and constants lie in, of so many bytes for code, is the nearest of the constants': one
// cache has one size, whoever uses it. Nothing where another one of theirs is about as large.
std::optional<bool> is_constant_l1(std::uint64_t code_bytes, Findings& findings) {
  const auto code = static_cast<double>(code_bytes);
  const double l1 = capacity_of("constant_l1", findings), l1_5 = capacity_of(constants_id, findings);
  if (l1 == 0 || !is_measured("constant_l1", findings)) return std::nullopt;
  if (code > apart * l1) return false;
  const bool is_l1_alone = l1_5 == 0 || l1_5 > apart * code;
  return code <= alike * l1 && code * alike >= l1 && is_l1_alone ? std::optional(true) : std::nullopt;
}

// Whether it holds more than that one of the constants' caches does.
bool holds_more_than(std::string_view id, const CodeLevel& level, Findings& findings) {
  return is_measured(id, findings) && static_cast<double>(level.held_bytes) > apart * capacity_of(id, findings);
}

// Whether it holds more than each of the constants' caches does, or loses far less already.
bool is_of_another_size(const CodeLevel& level, Findings& findings) {
  for (const std::string_view id : {std::string_view("constant_l1"), constants_id}) {
    if (is_absent(id, findings)) continue;
    const double bytes = capacity_of(id, findings);
    if (!holds_more_than(id, level, findings) && far_more * static_cast<double>(level.lost_from_bytes) >= bytes)
      return false;
  }
  return true;
}

}  // namespace

void leave_instruction_caches_open(Findings& findings, std::string_view why) {
  constexpr std::string_view method = "jumps";
  Memory& memory = findings.memory(code_level_names[1]);
  memory.attributes["size"] = inconclusive("B", method, why);
  memory.attributes["miss_penalty"] = inconclusive("cycles", method, why);
}

std::vector<FetchLevel> fetch_levels(const device::DeviceInfo& info, std::span<const InstructionCache> caches,
                                     Findings& findings) {
  const bool before_l2 = has_l2(info, findings);
  const std::vector<std::string_view> names = names_of_code_levels(caches.size(), before_l2);
  std::vector<FetchLevel> levels;
  for (std::size_t i = 0; i < names.size(); ++i)
    levels.push_back({names[i], i == 0 ? 0 : caches[i - 1].level.lost_from_bytes, caches[i].level.to_bytes});
  // A half of what the L2 holds: what is still in front of it isn't asked for again before it goes. Code that
  // constants' L1.5 has doesn't come from the L2, even where that cache didn't show, as one that replaces by chance
  // needn't.
  if (!caches.empty() && before_l2) {
    std::uint64_t in_front = caches.back().level.lost_from_bytes;
    const std::uint64_t of_constants = code_in_constants(findings);
    if (static_cast<double>(of_constants) > apart * static_cast<double>(in_front)) in_front = of_constants;
    levels.push_back({"l2", in_front, findings.near_l2_bytes(info).value_or(0) / 2});
  }
  return levels;
}

void name_instruction_caches(Session& session, std::vector<InstructionCache> caches, Findings& findings) {
  if (caches.empty())
    return leave_instruction_caches_open(findings, "jumps take as long over all the code there is: no cache shows");
  const std::vector<std::string_view> names = names_of_code_levels(caches.size(), has_l2(session.info(), findings));
  const CacheFacts* constants = findings.cache(constants_id);
  bool has_constants = constants != nullptr && constants->present, nearer_are_told = true;
  const bool are_constants_told = has_constants || is_absent(constants_id, findings);
  // Curves were kept by place so far; names are later ones, if others.
  for (std::size_t i = names.size(); i-- > 0;) session.rename_kept(code_level_names[i], names[i]);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string_view id = names[i];
    Memory& memory = findings.memory(id);
    memory = std::move(caches[i].memory);
    memory.id = id;
    const auto with = memory.structure.find("constants");
    const bool shares = with != memory.structure.end() && with->second.value == "same";
    const bool is_asked = with != memory.structure.end() && with->second.status == Status::measured;
    const bool is_told = is_asked || is_of_another_size(caches[i].level, findings);
    const std::optional<bool> is_l1 = is_constant_l1(caches[i].facts.capacity_bytes, findings);
    // Which of two is the constants' own is known where the nearer one isn't in doubt.
    const bool is_known = is_told && (!shares || (nearer_are_told && is_l1));
    nearer_are_told = nearer_are_told && is_told && (!shares || is_l1);
    if (shares && is_l1.value_or(false)) {
      memory.physical_cache = "constant_l1";
      memory.structure["physical_cache"] = decided(memory.physical_cache, "eviction", caches[i].level.samples);
      continue;
    }
    if (is_known && (!shares || are_constants_told)) {
      // One that is larger is a further one of the constants', which has no name among theirs.
      const bool is_theirs = shares && has_constants && !holds_more_than(constants_id, caches[i].level, findings);
      memory.physical_cache = is_theirs ? constants_id : id;
      memory.structure["physical_cache"] =
          decided(memory.physical_cache, is_asked ? "eviction" : "capacities", caches[i].level.samples);
      if (memory.physical_cache != id) take_from(findings.memory(memory.physical_cache), memory, session);
    }
    has_constants = has_constants && !shares;  // behind the first that both use, constants' caches have no names
  }
}

}  // namespace gputopo::experiments
