#include "hwloc_export/tree.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "hwloc_export/infos.hpp"
#include "hwloc_export/names.hpp"

namespace gputopo::hwloc_export {
namespace {

struct Part {
  Scope scope;
  std::string_view subtype;
  std::string_view name;
};

// Widest first. The whole GPU needs no node: it is the OS device. Groups without a name are wider than most that have
// one: an SM's or a TPC's own caches are found by other means.
constexpr std::array<Part, 7> parts{{{Scope::gpu, "", ""},
                                     {Scope::partition, "GPUPartition", "Partition"},
                                     {Scope::group, "GPUGroup", "SM group"},
                                     {Scope::gpc, "GPUGPC", "GPC"},
                                     {Scope::cpc, "GPUCPC", "CPC"},
                                     {Scope::tpc, "GPUTPC", "TPC"},
                                     {Scope::sm, "GPUSM", "SM"}}};

// Memories that are one physical cache, shown as one box.
struct Box {
  std::vector<const Memory*> members;  // the one that names the box first
  const Memory& main() const { return *members.front(); }
};

class TreeBuilder {
 public:
  TreeBuilder(const Topology& topology, const Identity& identity) : topology_(topology), identity_(identity) {
    collect();
  }

  std::vector<Node> build() const { return level(0); }

 private:
  void collect() {
    std::map<std::string_view, std::size_t> box_of;
    for (const Memory& m : topology_.memories) {
      const Estimate* size = m.find("size");
      if (size != nullptr && size->status == Status::not_supported) continue;
      const std::string_view physical = m.physical_cache.empty() ? m.id : m.physical_cache;
      const auto [at, is_new] = box_of.try_emplace(physical, boxes_.size());
      if (is_new) boxes_.emplace_back();
      auto& members = boxes_[at->second].members;
      members.insert(m.id == physical ? members.begin() : members.end(), &m);
    }
  }

  const Box* box_with(std::string_view id) const {
    for (const Box& box : boxes_)
      for (const Memory* m : box.members)
        if (m->id == id) return &box;
    return nullptr;
  }

  // The box a box lies in or is served by; members of one physical cache may name different ones.
  const Box* parent_of(const Box& box) const {
    for (const Memory* m : box.members) {
      const Box* parent = box_with(m->parent);
      if (parent != nullptr && parent != &box) return parent;
    }
    return nullptr;
  }

  bool serves(const Box& box, const Box& other) const {
    // As many steps as boxes: physical caches joined into one box may close a circle that the memories don't have.
    const Box* at = parent_of(other);
    for (std::size_t steps = 0; at != nullptr && steps < boxes_.size(); ++steps, at = parent_of(*at))
      if (at == &box) return true;
    return false;
  }

  // The innermost box of this scope that serves more than half of the narrower caches.
  const Box* spine(std::size_t part) const {
    const Box* best = nullptr;
    for (const Box& candidate : boxes_) {
      if (part_of(candidate) != part) continue;
      std::size_t narrower = 0, served = 0;
      for (const Box& box : boxes_) {
        if (part_of(box) <= part || box.main().kind != Kind::cache) continue;
        narrower += box.members.size();
        if (serves(candidate, box)) served += box.members.size();
      }
      if (2 * served > narrower && (best == nullptr || serves(*best, candidate))) best = &candidate;
    }
    return best;
  }

  static std::size_t part_of(const Box& box) {
    // Where nobody knows who shares it, it lies in the GPU: that much is certain.
    const Scope scope = box.main().scope.value_or(Scope::gpu);
    const auto is_it = [&](const Part& p) { return p.scope == scope; };
    return static_cast<std::size_t>(std::find_if(parts.begin(), parts.end(), is_it) - parts.begin());
  }

  bool is_used(std::size_t part) const {
    return std::any_of(boxes_.begin(), boxes_.end(), [&](const Box& box) { return part_of(box) == part; });
  }

  // What a part of the chip contains: its memories, and the narrower parts.
  std::vector<Node> level(std::size_t part) const {
    std::vector<Node> inner = narrower_parts(part);
    const Box* holder = inner.empty() ? nullptr : spine(part);
    std::vector<Node> nodes;
    for (const Box& box : boxes_)
      if (part_of(box) == part && !lies_in_parent(box)) nodes.push_back(box_node(box, holder, inner, 0));
    if (holder == nullptr) std::move(inner.begin(), inner.end(), std::back_inserter(nodes));
    return nodes;
  }

  std::vector<Node> narrower_parts(std::size_t part) const {
    for (std::size_t next = part + 1; next < parts.size(); ++next) {
      if (!is_used(next)) continue;
      Node node{std::string(parts[next].subtype), std::string(parts[next].name), {}, level(next)};
      node.infos = {{"GPUTopoId", fmt::format("part_{}", to_string(parts[next].scope))}};
      if (const std::size_t count = count_of(parts[next].scope); count > 0) {
        node.name += fmt::format(" x{}", count);
        node.infos.emplace_back("Count", fmt::format("{}", count));
      }
      append(node.infos, identity_infos(topology_, identity_));
      return {std::move(node)};
    }
    return {};
  }

  bool lies_in_parent(const Box& box) const {
    const Box* parent = parent_of(box);
    // A circle among joined boxes has no outermost one; then each stands alone.
    return parent != nullptr && part_of(*parent) == part_of(box) && !serves(box, box);
  }

  Node box_node(const Box& box, const Box* holder, std::vector<Node>& inner, std::size_t depth) const {
    Node node;
    node.subtype = box.main().kind == Kind::memory       ? "GPUMemory"
                   : box.main().kind == Kind::scratchpad ? "GPUScratchpad"
                                                         : "GPUCache";
    std::vector<std::string> names;
    for (const Memory* m : box.members) names.push_back(short_name(*m, topology_.gpu));
    node.name = fmt::format("{}{}", fmt::join(names, "/"), size_suffix(box.main().find("size")));
    if (const auto instances = box.main().instances_per_scope; box.main().scope && instances.value_or(1) > 1)
      node.name += fmt::format(" x{}", *instances);
    node.infos = memory_infos(topology_, box.members);
    append(node.infos, identity_infos(topology_, identity_));
    for (const Box& other : boxes_)
      if (parent_of(other) == &box && lies_in_parent(other) && depth < boxes_.size())
        node.children.push_back(box_node(other, holder, inner, depth + 1));
    if (&box == holder) std::move(inner.begin(), inner.end(), std::back_inserter(node.children));
    return node;
  }

  // How many of a part the chip has; 0 where that wasn't measured.
  std::size_t count_of(Scope scope) const {
    if (scope == Scope::sm) return topology_.gpu.sm_count;
    for (const Memory& m : topology_.memories)
      if (m.scope == scope && !m.sm_groups.empty()) return m.sm_groups.size();
    std::set<std::uint32_t> labels;
    for (const SmPlace& place : topology_.sm_places) {
      const auto label = scope == Scope::tpc   ? place.tpc
                         : scope == Scope::cpc ? place.cpc
                         : scope == Scope::gpc ? place.gpc
                                               : place.l2_partition;
      if (label) labels.insert(*label);
    }
    return labels.size();
  }

  static void append(std::vector<Info>& infos, std::vector<Info> more) {
    std::move(more.begin(), more.end(), std::back_inserter(infos));
  }

  const Topology& topology_;
  const Identity& identity_;
  std::vector<Box> boxes_;
};

}  // namespace

std::vector<Node> build_tree(const Topology& topology, const Identity& identity) {
  std::vector<Node> nodes = TreeBuilder(topology, identity).build();
  if (topology.provenance.simulated)
    for (Node& node : nodes) node.name += ", simulated";
  return nodes;
}

}  // namespace gputopo::hwloc_export
