#include "experiments/registry.hpp"

#include <algorithm>
#include <set>

namespace gputopo::experiments {
namespace {

template <Expected<void> (*measure)(Session&, Findings&, const CachePath&), const CachePath& path>
Expected<void> of(Session& session, Findings& findings) {
  return measure(session, findings, path);
}

template <Expected<void> (*measure)(Session&, Findings&, const std::string_view&), const std::string_view& memory>
Expected<void> of(Session& session, Findings& findings) {
  return measure(session, findings, memory);
}

constexpr std::string_view l1_id = "l1";
constexpr std::string_view texture_id = "texture";
constexpr std::string_view constant_l1_id = "constant_l1";
constexpr std::string_view constant_l1_5_id = "constant_l1_5";
constexpr std::string_view l2_id = "l2";
constexpr std::string_view shared_id = "shared";
constexpr std::string_view device_memory_id = "device_memory";

using evidence::constant_path;
using evidence::l1_path;
using evidence::read_only_path;
using evidence::texture_path;

const std::vector<Experiment>& table() {
  using enum Part;
  // Constants first: the very first walk finds them in no cache.
  static const std::vector<Experiment> rows{
      {"constant_l1.levels", {"constant_l1"}, {}, values, of<measure_levels, constant_path>},
      {"constant_l1.sector", {"constant_l1"}, {"constant_l1.levels"}, values, of<measure_sector, constant_path>},
      {"constant_l1.geometry", {"constant_l1"}, {"constant_l1.sector"}, values, of<measure_geometry, constant_path>},
      {"l1.levels", {"l1"}, {}, values, of<measure_levels, l1_path>},
      {"l1.sector", {"l1"}, {"l1.levels"}, values, of<measure_sector, l1_path>},
      {"l1.geometry", {"l1"}, {"l1.sector"}, values, of<measure_geometry, l1_path>},
      {"texture.levels", {"texture"}, {}, values, of<measure_levels, texture_path>},
      {"texture.sector", {"texture"}, {"texture.levels"}, values, of<measure_sector, texture_path>},
      {"texture.geometry", {"texture"}, {"texture.sector"}, values, of<measure_geometry, texture_path>},
      {"read_only.levels", {"read_only"}, {}, values, of<measure_levels, read_only_path>},
      {"read_only.sector", {"read_only"}, {"read_only.levels"}, values, of<measure_sector, read_only_path>},
      {"read_only.geometry", {"read_only"}, {"read_only.sector"}, values, of<measure_geometry, read_only_path>},
      {"shared", {"shared"}, {}, values, measure_shared},
      {"device_memory", {"device_memory"}, {}, values, measure_device_memory},
      {"l2.levels", {"l2"}, {"device_memory"}, values, measure_l2_levels},
      {"l2.sets", {"l2"}, {"l2.levels"}, values, measure_l2_sets},
      {"l2.sides", {"l2"}, {"l2.sets"}, values, measure_l2_sides},
      {"chip_map", {"l2"}, {"l2.sides"}, structure, measure_chip_map},
      {"l2.geometry", {"l2"}, {"l2.sides"}, values, measure_l2_geometry},
      {"l2.behind", {"l2"}, {"l2.geometry"}, values, measure_l2_behind},
      // Behind what looks at stretches of memory that nobody has touched.
      {"device_memory.latency", {"device_memory"}, {"l2.levels"}, values, measure_memory_latency},
      {"l1.penalty", {"l1"}, {"l1.geometry", "l2.sides"}, values, of<measure_penalty, l1_path>},
      {"texture.penalty", {"texture"}, {"texture.geometry", "l2.sides"}, values, of<measure_penalty, texture_path>},
      {"read_only.penalty",
       {"read_only"},
       {"read_only.geometry", "l2.sides"},
       values,
       of<measure_penalty, read_only_path>},
      {"l2.penalty", {"l2"}, {"l2.sides", "l2.behind"}, values, measure_l2_penalty},
      {"constant_l1.penalty",
       {"constant_l1"},
       {"constant_l1.geometry", "l2.sides"},
       values,
       of<measure_penalty, constant_path>},
      {"constant_l1_5.levels",
       {"constant_l1_5", "constant_l1"},
       {"constant_l1.geometry", "constant_l1.penalty", "l2.behind"},
       values,
       measure_constant_l1_5},
      {"constant_l1_5.size", {"constant_l1_5"}, {"constant_l1_5.levels"}, values, measure_constant_l1_5_size},
      {"parents",
       {"texture", "read_only", "constant_l1", "constant_l1_5"},
       {"texture.penalty", "read_only.penalty", "constant_l1_5.size", "l2.geometry", "device_memory.latency"},
       values,
       measure_parents},
      {"sharing", {"l1", "texture", "read_only", "constant_l1"}, {}, structure, measure_sharing},
      {"constant_l1_5.code", {"constant_l1_5"}, {"constant_l1_5.size"}, structure, measure_code_sharing},
      {"l1.scope", {"l1"}, {"l1.geometry"}, structure, of<measure_scope, l1_path>},
      {"texture.scope", {"texture"}, {"texture.geometry"}, structure, of<measure_scope, texture_path>},
      {"read_only.scope", {"read_only"}, {"read_only.geometry"}, structure, of<measure_scope, read_only_path>},
      {"constant_l1.scope", {"constant_l1"}, {"constant_l1.geometry"}, structure, of<measure_scope, constant_path>},
      {"l1.instances", {"l1"}, {"l1.scope"}, structure, of<measure_instances, l1_path>},
      {"texture.instances", {"texture"}, {"texture.scope"}, structure, of<measure_instances, texture_path>},
      {"read_only.instances", {"read_only"}, {"read_only.scope"}, structure, of<measure_instances, read_only_path>},
      {"constant_l1.instances",
       {"constant_l1"},
       {"constant_l1.scope"},
       structure,
       of<measure_instances, constant_path>},
      {"l1.carve_outs", {"l1", "read_only"}, {"l1.geometry", "sharing"}, structure, measure_carve_outs},
      {"l2.scope", {"l2"}, {"l2.behind", "l2.sets"}, structure, measure_l2_scope},
      {"constant_l1_5.groups", {"constant_l1_5"}, {"constant_l1_5.size"}, structure, measure_constant_l1_5_groups},
      {"l1.bandwidth", {"l1"}, {"l1.geometry"}, structure, of<measure_bandwidth, l1_id>},
      {"texture.bandwidth", {"texture"}, {"texture.geometry"}, structure, of<measure_bandwidth, texture_id>},
      {"constant_l1.bandwidth",
       {"constant_l1"},
       {"constant_l1.geometry"},
       structure,
       of<measure_bandwidth, constant_l1_id>},
      {"constant_l1_5.bandwidth",
       {"constant_l1_5"},
       {"constant_l1_5.size"},
       structure,
       of<measure_bandwidth, constant_l1_5_id>},
      {"l2.bandwidth", {"l2"}, {"l2.geometry"}, structure, of<measure_bandwidth, l2_id>},
      {"shared.bandwidth", {"shared"}, {"shared"}, structure, of<measure_bandwidth, shared_id>},
      {"device_memory.bandwidth",
       {"device_memory"},
       {"device_memory"},
       structure,
       of<measure_bandwidth, device_memory_id>},
      {"device_memory.prefetch", {"device_memory"}, {"l2.behind"}, deep, measure_memory_prefetch},
      {"device_memory.rows", {"device_memory"}, {"l2.behind"}, deep, measure_memory_rows},
      {"device_memory.lines", {"device_memory"}, {"l2.behind"}, deep, measure_memory_lines},
      {"l1.organisation", {"l1"}, {"l1.geometry"}, deep, of<measure_organisation, l1_path>},
      {"l2.organisation", {"l2"}, {"l2.behind"}, deep, measure_l2_organisation},
      {"l2.slices", {"l2"}, {"l2.levels"}, deep, measure_l2_slices},
      {"l1.stores", {"l1"}, {"l1.geometry"}, deep, measure_l1_stores},
      {"l2.stores", {"l2", "l1"}, {"l2.behind", "l2.sets", "l1.stores"}, deep, measure_l2_stores},
      {"texture.organisation", {"texture"}, {"texture.geometry"}, deep, of<measure_organisation, texture_path>},
      {"read_only.organisation", {"read_only"}, {"read_only.geometry"}, deep, of<measure_organisation, read_only_path>},
      {"constant_l1.organisation",
       {"constant_l1"},
       {"constant_l1.geometry"},
       deep,
       of<measure_organisation, constant_path>},
      {"constant_l1_5.organisation",
       {"constant_l1_5"},
       {"constant_l1_5.size"},
       deep,
       measure_constant_l1_5_organisation},
      {"instructions",
       {"instruction_l0", "instruction_l1", "instruction_l1_5", "instruction_l2"},
       {"constant_l1_5.size"},
       deep,
       measure_instructions},
      // The last to measure: it takes nearly all of the GPU's memory.
      {"translation", {"tlb_l1", "tlb_l2", "tlb_l3"}, {"l2.geometry"}, deep, measure_translation},
      {"latency_patterns", {"tlb_l1", "tlb_l2", "tlb_l3"}, {"translation"}, deep, measure_memory_patterns},
      // About no memory: of a whole discovery alone.
      {"chip_parts", {}, {"constant_l1_5.groups", "instructions", "translation"}, deep, measure_chip_parts},
  };
  return rows;
}

}  // namespace

std::span<const Experiment> all_experiments() {
  return table();
}

std::vector<const Experiment*> plan(std::span<const std::string> memories, bool with_structure, bool deep,
                                    bool beside_others) {
  std::set<std::string_view> wanted;
  if (beside_others) wanted.insert("l2.geometry");  // Findings::others_fill_l2
  // Naming a memory that nothing cheap tells about asks for what is deep.
  const auto only_deep = [](std::string_view id) {
    return std::none_of(table().begin(), table().end(), [&](const Experiment& e) {
      return e.part != Part::deep && std::find(e.memories.begin(), e.memories.end(), id) != e.memories.end();
    });
  };
  const bool names_deep = std::any_of(memories.begin(), memories.end(), only_deep);
  const auto asked_for = [&](const Experiment& e) {
    const bool affordable =
        e.part != Part::deep || deep || (names_deep && std::all_of(e.memories.begin(), e.memories.end(), only_deep));
    if ((e.part == Part::structure && !with_structure) || !affordable) return false;
    return memories.empty() || std::any_of(memories.begin(), memories.end(), [&](const std::string& id) {
             return std::find(e.memories.begin(), e.memories.end(), id) != e.memories.end();
           });
  };
  // Backwards: every experiment stands behind what it needs.
  for (auto e = table().rbegin(); e != table().rend(); ++e) {
    if (!wanted.contains(e->name) && !asked_for(*e)) continue;
    wanted.insert(e->name);
    wanted.insert(e->needs.begin(), e->needs.end());
  }
  std::vector<const Experiment*> chosen;
  for (const Experiment& e : table())
    if (wanted.contains(e.name)) chosen.push_back(&e);
  return chosen;
}

}  // namespace gputopo::experiments
