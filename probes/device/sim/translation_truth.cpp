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

Memory tlb_memory(const Model& model, std::size_t number, std::string_view id) {
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
  return memory;
}

}  // namespace

void add_translation(const Model& model, Topology& truth) {
  const std::vector<std::size_t> asked = tlbs_asked(model);
  for (std::size_t i = 0; i < std::min(asked.size(), tlb_ids.size()); ++i)
    truth.memories.push_back(tlb_memory(model, asked[i], tlb_ids[i]));
}

}  // namespace gputopo::sim
