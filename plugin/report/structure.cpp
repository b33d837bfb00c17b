#include "report/structure.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "report/cell.hpp"
#include "report/text.hpp"

namespace gputopo::report {
namespace {

constexpr std::size_t structure_note_limit = 300;

std::string group_text(const Memory& memory, Room room) {
  if (memory.sm_groups.empty()) return "group of SMs";
  const auto by_size = [](const auto& a, const auto& b) { return a.size() < b.size(); };
  const auto [least, most] = std::minmax_element(memory.sm_groups.begin(), memory.sm_groups.end(), by_size);
  const std::string group = room == Room::full ? "group of " : "";
  if (least->size() == most->size()) return fmt::format("{}{} SMs", group, most->size());
  return fmt::format("{}{}-{} SMs", group, least->size(), most->size());
}

std::string scope_name(const Memory& memory, Room room) {
  if (*memory.scope == Scope::group) return group_text(memory, room);
  std::string name(to_string(*memory.scope));
  if (*memory.scope != Scope::partition)
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
  return name;
}

// Why a member is absent: what its experiment said, or that there was none.
std::string why_absent(const Memory& memory, const char* about) {
  const auto it = memory.structure.find(about);
  if (it == memory.structure.end() || is_usable(it->second)) return "not measured";
  const std::string note = printable(it->second.note, structure_note_limit);
  return status_words(it->second.status) + (note.empty() ? "" : "; " + note);
}

bool is_absent(const Memory& memory) {
  const Estimate* size = memory.find("size");
  return size != nullptr && size->status == Status::not_supported;
}

}  // namespace

std::string scope_text(const Memory& memory, Room room) {
  if (!memory.scope) return "-";
  if (memory.instances_per_scope.value_or(1) == 1) return scope_name(memory, room);
  return fmt::format("{}/{}", *memory.instances_per_scope, scope_name(memory, room));
}

Cell scope_cell(const Memory& memory, Room room, Footnotes& notes) {
  Cell cell{scope_text(memory, room), {}};
  if (is_absent(memory)) return cell;
  if (!memory.scope)
    cell.mark = notes.mark(why_absent(memory, "scope"));
  else if (!memory.instances_per_scope)
    cell.mark = notes.mark("how many of it one has: " + why_absent(memory, "instances_per_scope"));
  return cell;
}

Cell same_as_cell(const Topology& topology, const Memory& memory, const std::string& prefix, Footnotes& notes) {
  if (memory.kind != Kind::cache || is_absent(memory)) return {};
  if (memory.physical_cache.empty()) return {"-", notes.mark(prefix + why_absent(memory, "physical_cache"))};
  for (const Memory& other : topology.memories) {
    if (&other == &memory) break;
    if (other.physical_cache == memory.physical_cache) return {printable(other.id, 28), {}};
  }
  return {};
}

}  // namespace gputopo::report
