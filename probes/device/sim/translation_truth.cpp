// What is true of a model's TLBs, in the words in which a discovery says it.
#include <algorithm>
#include <array>

#include "catalog/catalog.hpp"
#include "device/sim/model.hpp"
#include "device/sim/organisation_words.hpp"

namespace gputopo::sim {
namespace {

constexpr std::array<std::string_view, 3> tlb_ids{"tlb_l1", "tlb_l2", "tlb_l3"};

// Those that loads past the L1 ask, the nearest first.
std::vector<std::size_t> tlbs_asked(const Model& model) {
  for (const Level& level : *model.path(program::Path::global_l2_only))
    if (!level.tlbs.empty()) return level.tlbs;
  return {};
}

// TLBs that code asks, the nearest first.
const std::vector<std::size_t>* tlbs_of_code(const Model& model) {
  static const std::vector<std::size_t> none;
  if (!model.execution) return nullptr;
  for (const Level& level : model.execution->path)
    if (!level.tlbs.empty()) return &level.tlbs;
  return &none;
}

// Code loses its translation with data's where all that it asks up to this one are among what data lost.
bool code_loses_it(const std::vector<std::size_t>& of_code, const std::vector<std::size_t>& of_data,
                   std::size_t place) {
  const auto here = std::find(of_code.begin(), of_code.end(), of_data[place]);
  const auto lost = of_data.begin() + static_cast<std::ptrdiff_t>(place);
  return here != of_code.end() &&
         std::all_of(of_code.begin(), here, [&](std::size_t t) { return std::find(of_data.begin(), lost, t) != lost; });
}

Memory tlb_memory(const Model& model, const std::vector<std::size_t>& asked, std::size_t place) {
  const std::size_t number = asked[place];
  const std::string_view id = tlb_ids[place];
  const TlbModel& tlb = model.tlbs[number];
  const catalog::MemoryRow& row = *catalog::find_memory(id);
  Memory memory;
  memory.id = row.id;
  memory.kind = row.kind;
  memory.label = row.label;
  memory.attributes["size"] = true_number(static_cast<double>(tlb.page_bytes) * tlb.entries, "B");
  memory.attributes["entries"] = true_number(tlb.entries);
  memory.attributes["entry_size"] = true_number(static_cast<double>(tlb.page_bytes), "B");
  memory.attributes["miss_penalty"] = true_number(tlb.miss_cycles, "cycles");
  state_organisation(memory, tlb.organisation, tlb.entries);
  memory.scope =
      tlb.shared_by.empty() && (tlb.scope == Scope::sm || tlb.scope == Scope::gpu) ? tlb.scope : Scope::group;
  memory.structure["scope"] = true_text(std::string(to_string(*memory.scope)));
  if (memory.scope == Scope::group) memory.sm_groups = sharing_sets(model, tlb);
  if (const auto& textures = model.path(program::Path::texture)) {
    const bool asks = std::any_of(textures->begin(), textures->end(), [&](const Level& level) {
      return std::find(level.tlbs.begin(), level.tlbs.end(), number) != level.tlbs.end();
    });
    memory.structure["textures"] = true_text(asks ? "same" : "apart");
  }
  if (const auto* of_code = tlbs_of_code(model))
    memory.structure["code"] = true_text(code_loses_it(*of_code, asked, place) ? "same" : "apart");
  return memory;
}

}  // namespace

void add_translation(const Model& model, Topology& truth) {
  const std::vector<std::size_t> asked = tlbs_asked(model);
  for (std::size_t i = 0; i < std::min(asked.size(), tlb_ids.size()); ++i)
    truth.memories.push_back(tlb_memory(model, asked, i));
}

}  // namespace gputopo::sim
