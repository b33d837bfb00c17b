#include "topology/check.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

namespace gputopo {
namespace {

constexpr std::size_t text_limit = 256;
constexpr std::size_t memory_limit = 256;
constexpr std::size_t attribute_limit = 64;
constexpr std::uint32_t count_limit = 1U << 20;
constexpr double value_limit = 1152921504606846976.0;  // 2^60

bool is_plain(const std::string& text) {
  return text.size() <= text_limit &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

bool is_plain(const Provenance& p) {
  const std::array texts{&p.tool_name,      &p.tool_version, &p.created,    &p.device,
                         &p.driver_version, &p.method,       &p.shared_gpu, &p.kernels};
  return std::all_of(texts.begin(), texts.end(), [](const std::string* text) { return is_plain(*text); });
}

Expected<void> wrong(std::string message) {
  return fail(Error::Kind::bad_input, std::move(message));
}

Expected<void> not_plain(const std::string& where) {
  return wrong(fmt::format("{} is not printable ASCII of at most {} characters", where, text_limit));
}

bool in_range(double value) {
  return value >= -value_limit && value <= value_limit;
}

Expected<void> check_attribute(const std::string& where, const Estimate& e) {
  if (!is_plain(e.unit)) return not_plain(where + "'s unit");
  if (!is_plain(e.method)) return not_plain(where + "'s method");
  const bool value_fits = !e.value || (*e.value >= 0 && in_range(*e.value));
  const bool interval_fits = !e.interval || (in_range(e.interval->low) && in_range(e.interval->high));
  if (!value_fits || !interval_fits) return wrong(fmt::format("{} lies outside what can be: 0 to 2^60", where));
  if (e.value && e.interval && (*e.value < e.interval->low || *e.value > e.interval->high))
    return wrong(fmt::format("{} is {}, which its interval from {} to {} doesn't contain", where, *e.value,
                             e.interval->low, e.interval->high));
  if (!is_interval_kind(e.interval_kind)) return wrong(fmt::format("{} has an interval of an unknown kind", where));
  return {};
}

Expected<void> check_statement(const std::string& where, const Statement& s) {
  if (!is_plain(s.value)) return not_plain(where);
  if (!is_plain(s.method)) return not_plain(where + "'s method");
  if (s.confidence && !(*s.confidence >= 0 && *s.confidence <= 1))
    return wrong(fmt::format("{} has a confidence outside 0 to 1", where));
  return {};
}

// A member of the memory and the statement that says how it was found must not tell two things.
Expected<void> check_structure(const Memory& m) {
  if (m.structure.size() > attribute_limit) return wrong(fmt::format("memory {} has too many statements", m.id));
  for (const auto& [about, statement] : m.structure) {
    if (!is_plain(about)) return not_plain(fmt::format("a statement's name in memory {}", m.id));
    if (auto checked = check_statement(fmt::format("memory {}: {}", m.id, about), statement); !checked) return checked;
  }
  const auto differs = [&](const char* about, const std::string& value) {
    const auto it = m.structure.find(about);
    return it != m.structure.end() && is_usable(it->second) && it->second.value != value;
  };
  const char* about =
      differs("scope", m.scope ? std::string(to_string(*m.scope)) : "") ? "scope"
      : differs("physical_cache", m.physical_cache)                     ? "physical_cache"
      : differs("instances_per_scope", m.instances_per_scope ? fmt::format("{}", *m.instances_per_scope) : "")
          ? "instances_per_scope"
          : nullptr;
  if (about != nullptr) return wrong(fmt::format("memory {}: {} and the statement of it differ", m.id, about));
  return {};
}

Expected<void> check_memory(const Memory& m) {
  if (m.id.empty() || !is_plain(m.id)) return not_plain("a memory's id");
  if (!is_plain(m.label)) return not_plain(fmt::format("memory {}'s label", m.id));
  if (!is_plain(m.created)) return not_plain(fmt::format("memory {}'s date", m.id));
  if (!is_plain(m.parent)) return not_plain(fmt::format("memory {}'s parent", m.id));
  if (!is_plain(m.physical_cache)) return not_plain(fmt::format("memory {}'s physical_cache", m.id));
  if (m.instances_per_scope && (*m.instances_per_scope < 1 || *m.instances_per_scope > count_limit))
    return wrong(fmt::format("memory {} has {} instances", m.id, *m.instances_per_scope));
  if (auto checked = check_structure(m); !checked) return checked;
  if (m.attributes.size() > attribute_limit) return wrong(fmt::format("memory {} has too many attributes", m.id));
  for (const auto& [name, estimate] : m.attributes) {
    if (!is_plain(name)) return not_plain(fmt::format("an attribute's name in memory {}", m.id));
    if (auto checked = check_attribute(fmt::format("memory {}: {}", m.id, name), estimate); !checked) return checked;
  }
  return {};
}

Expected<void> check_parents(const Topology& t) {
  std::unordered_map<std::string_view, std::size_t> index;
  for (const Memory& m : t.memories) index.emplace(m.id, index.size());
  const std::size_t none = t.memories.size();
  std::vector<std::size_t> parents;
  for (const Memory& m : t.memories) {
    const auto parent = index.find(m.parent);
    parents.push_back(parent == index.end() ? none : parent->second);
  }
  std::vector<bool> ends(t.memories.size(), false);  // whose ancestors are known to come to an end
  for (std::size_t i = 0; i < t.memories.size(); ++i) {
    std::size_t steps = 0;
    for (std::size_t at = i; at != none && !ends[at]; at = parents[at])
      if (++steps > t.memories.size()) return wrong(fmt::format("memory {} is its own ancestor", t.memories[i].id));
    for (std::size_t at = i; at != none && !ends[at]; at = parents[at]) ends[at] = true;
  }
  return {};
}

}  // namespace

Expected<void> check(const Topology& t) {
  for (const std::string* text : {&t.gpu.name, &t.gpu.uuid, &t.gpu.pci_bus_id, &t.gpu.compute_capability})
    if (!is_plain(*text)) return not_plain("a text of gpu or provenance");
  if (!is_plain(t.provenance)) return not_plain("a text of gpu or provenance");
  if (!std::all_of(t.earlier_runs.begin(), t.earlier_runs.end(), [](const Provenance& p) { return is_plain(p); }))
    return not_plain("a text of an earlier run");
  if (t.earlier_runs.size() > memory_limit)
    return wrong(fmt::format("there are {} earlier runs", t.earlier_runs.size()));
  if (t.gpu.sm_count > count_limit)
    return wrong(fmt::format("the GPU has {} SMs, over the limit of {}", t.gpu.sm_count, count_limit));
  if (t.memories.size() > memory_limit) return wrong(fmt::format("there are {} memories", t.memories.size()));
  std::unordered_set<std::string_view> ids;
  for (const Memory& m : t.memories) {
    if (auto checked = check_memory(m); !checked) return checked;
    if (!ids.insert(m.id).second) return wrong(fmt::format("two memories are called {}", m.id));
  }
  return check_parents(t);
}

}  // namespace gputopo
