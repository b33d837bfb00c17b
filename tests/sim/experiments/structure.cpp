#include "structure.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

namespace gputopo::test {
namespace {

using SmSet = std::set<std::uint32_t>;
using SmSets = std::set<SmSet>;

// The sets of SMs that have one set of instances each; nothing where that isn't known.
std::optional<SmSets> sharing_sets(const Memory& memory, std::uint32_t sm_count) {
  SmSets sets;
  if (memory.scope == Scope::sm)
    for (std::uint32_t sm = 0; sm < sm_count; ++sm) sets.insert({sm});
  if (memory.scope == Scope::gpu) {
    SmSet everyone;
    for (std::uint32_t sm = 0; sm < sm_count; ++sm) everyone.insert(sm);
    sets.insert(everyone);
  }
  for (const auto& group : memory.sm_groups) sets.insert(SmSet(group.begin(), group.end()));
  if (sets.empty()) return std::nullopt;
  return sets;
}

std::string structure_text(const std::optional<SmSets>& sets, std::uint32_t sm_count) {
  if (!sets) return "unknown";
  if (sets->size() == 1) return "all SMs";
  if (sets->size() == sm_count) return "each SM alone";
  const auto by_size = [](const SmSet& a, const SmSet& b) { return a.size() < b.size(); };
  const auto [least, most] = std::minmax_element(sets->begin(), sets->end(), by_size);
  const std::string sizes = least->size() == most->size() ? fmt::format("{}", least->size())
                                                          : fmt::format("{} to {}", least->size(), most->size());
  return fmt::format("{} groups of {} SMs", sets->size(), sizes);
}

Verdict equal(bool same) {
  return same ? Verdict::exact : Verdict::wrong;
}

bool is_absent(const Memory& truth) {
  const Estimate* size = truth.find("size");
  return size == nullptr || !size->value;
}

Statement sharing_statement(const Memory& found, const Memory& truth, std::uint32_t sm_count) {
  const auto is = sharing_sets(truth, sm_count);
  const auto seems = sharing_sets(found, sm_count);
  Statement s{truth.id, "shared_by", structure_text(is, sm_count), structure_text(seems, sm_count), equal(seems == is),
              true,     ""};
  if (seems == is || seems) return s;
  // Groups are told by code that pushes constants out, which not every model lets run through this cache.
  s.verdict = Verdict::inconclusive;
  s.decidable = false;
  return s;
}

std::string structure_text(const std::vector<CarveOut>& table) {
  return table.empty() ? "unknown" : fmt::format("{} carve-outs", table.size());
}

bool open_or_same(const Estimate& found, const Estimate& truth) { return !found.value || found.value == truth.value; }

// What is reserved is known of published arrays alone: no load tells it.
bool is_row(const CarveOut& found, const CarveOut& truth) {
  return found.usable_bytes.value && *found.usable_bytes.value == *truth.usable_bytes.value &&
         open_or_same(found.reserved_bytes, truth.reserved_bytes);
}

// Every carve-out that was found must be one there is, with what it leaves to the cache; there may be more than found.
Statement carve_out_statement(const Memory& found, const Memory& truth) {
  Statement s{
      truth.id, "carve_outs", structure_text(truth.carve_outs), structure_text(found.carve_outs), Verdict::exact, true,
      ""};
  if (found.carve_outs.empty() && !truth.carve_outs.empty()) {
    // Counting what is left takes loads that leave the cache as it is, which not every GPU has.
    s.verdict = Verdict::inconclusive;
    s.decidable = false;
    return s;
  }
  for (const CarveOut& row : found.carve_outs) {
    const double bytes = row.shared_bytes.value.value_or(-1);
    const auto same_bytes = [&](const CarveOut& t) { return *t.shared_bytes.value == bytes; };
    const auto is = std::find_if(truth.carve_outs.begin(), truth.carve_outs.end(), same_bytes);
    if (is != truth.carve_outs.end() && is_row(row, *is)) continue;
    if (is != truth.carve_outs.end() && open_or_same(row.usable_bytes, is->usable_bytes) &&
        open_or_same(row.reserved_bytes, is->reserved_bytes)) {
      if (s.verdict == Verdict::exact) s.verdict = Verdict::inconclusive;  // what it leaves was left open
      continue;
    }
    s.verdict = Verdict::wrong;
    s.how += fmt::format("{}% shared {} usable {} reserved {}; ", row.requested_percent, bytes,
                         row.usable_bytes.value.value_or(-1), row.reserved_bytes.value.value_or(-1));
  }
  if (s.verdict == Verdict::exact && found.carve_outs.size() < truth.carve_outs.size())
    s.verdict = Verdict::inconclusive;
  return s;
}

using Member = std::optional<std::uint32_t> SmPlace::*;

SmSets sets_of(const std::vector<SmPlace>& places, Member member) {
  std::map<std::uint32_t, SmSet> by_label;
  for (const SmPlace& place : places)
    if (place.*member) by_label[*(place.*member)].insert(place.sm);
  SmSets sets;
  for (const auto& [label, set] : by_label) sets.insert(set);
  return sets;
}

}  // namespace

std::vector<Statement> structure_statements(const Memory& found, const Memory& truth, std::uint32_t sm_count) {
  std::vector<Statement> all;
  if (is_absent(truth)) return all;
  const auto names = [&](const char* attribute, const std::string& is, const std::string& seems) {
    all.push_back({truth.id, attribute, is, seems, equal(is == seems), true, ""});
  };
  // What no experiment said is left out; it isn't wrong, and what can't be seen everywhere needn't be said.
  const auto names_if_said = [&](const char* attribute, const std::string& is, const std::string& seems) {
    if (seems.empty())
      all.push_back({truth.id, attribute, is, "unknown", Verdict::inconclusive, false, ""});
    else
      names(attribute, is, seems);
    if (const auto how = found.structure.find(attribute); how != found.structure.end())
      all.back().confidence = how->second.confidence;
  };
  names_if_said("physical_cache", truth.physical_cache, found.physical_cache);
  if (truth.kind != Kind::cache) return all;
  // Where the level behind is open, nothing is said of what it is.
  if (found.parent.empty() && !truth.parent.empty())
    all.push_back({truth.id, "parent", truth.parent, "unknown", Verdict::inconclusive, true, ""});
  else
    names("parent", truth.parent, found.parent);
  all.push_back(sharing_statement(found, truth, sm_count));
  const auto number = [](const std::optional<std::uint32_t>& n) { return n ? fmt::format("{}", *n) : std::string(); };
  names_if_said("instances_per_scope", number(truth.instances_per_scope), number(found.instances_per_scope));
  const auto sides = found.structure.find("l2_sides");
  if (sides != found.structure.end() && sides->second.status == Status::measured) {
    const Estimate* partitions = truth.find("partitions");
    names("l2_sides", fmt::format("{:.0f}", partitions == nullptr ? 1 : *partitions->value), sides->second.value);
  }
  // Other ways into one physical cache have its carve-outs.
  const bool has_own = truth.physical_cache == truth.id && !(truth.carve_outs.empty() && found.carve_outs.empty());
  if (has_own || !found.carve_outs.empty()) all.push_back(carve_out_statement(found, truth));
  return all;
}

std::vector<Statement> place_statements(const Topology& found, const Topology& truth) {
  constexpr std::pair<const char*, Member> kinds[] = {
      {"tpc", &SmPlace::tpc}, {"cpc", &SmPlace::cpc}, {"gpc", &SmPlace::gpc}, {"l2_partition", &SmPlace::l2_partition}};
  std::vector<Statement> all;
  for (const auto& [name, member] : kinds) {
    const SmSets is = sets_of(truth.sm_places, member);
    const SmSets seems = sets_of(found.sm_places, member);
    if (is.empty() && seems.empty()) continue;
    const auto text = [&](const SmSets& sets) {
      return structure_text(sets.empty() ? std::nullopt : std::optional(sets), truth.gpu.sm_count);
    };
    all.push_back(
        {"GPU", name, text(is), text(seems), seems.empty() ? Verdict::inconclusive : equal(is == seems), false, ""});
  }
  return all;
}

}  // namespace gputopo::test
