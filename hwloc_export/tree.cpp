#include "hwloc_export/tree.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

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

constexpr std::size_t partition = 1;   // among the parts
constexpr std::size_t most_sides = 8;  // no GPU comes near it, and a file could claim any number
// Boxes in boxes, within one part of the chip. No GPU comes near it either, and libxml2, by which hwloc's tools read
// what was exported, gives up at 256 levels, the machine's own among them.
constexpr std::size_t most_nested = 8;

// Memories that are one physical cache, shown as one box.
struct Box {
  std::vector<const Memory*> members;  // the one that names the box first
  const Box* parent = nullptr;         // the box it lies in or is served by
  bool lies_in_parent = false;         // and is drawn in
  std::size_t part = 0;                // of the chip that has it: an index into `parts`
  const Memory& main() const { return *members.front(); }
};

class TreeBuilder {
 public:
  TreeBuilder(const Topology& topology, const Identity& identity) : topology_(topology), identity_(identity) {
    collect();
    find_parents();
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

  // The box each box lies in or is served by, found once; members of one physical cache may name different ones. Walks
  // along them take as many steps as there are boxes: physical caches joined into one box may close a circle that the
  // memories don't have.
  void find_parents() {
    std::map<std::string_view, const Box*> box_with;
    for (const Box& box : boxes_)
      for (const Memory* m : box.members) box_with.emplace(m->id, &box);
    for (Box& box : boxes_) box.part = part_of(box);
    for (Box& box : boxes_)
      for (const Memory* m : box.members) {
        const auto parent = box_with.find(m->parent);
        if (box.parent == nullptr && parent != box_with.end() && parent->second != &box) box.parent = parent->second;
      }
    // A circle among joined boxes has no outermost one; then each stands alone.
    for (Box& box : boxes_)
      box.lies_in_parent = box.parent != nullptr && box.parent->part == box.part && !serves(box, box);
    // What would lie too deep is drawn beside.
    for (Box& box : boxes_) box.lies_in_parent = box.lies_in_parent && boxes_around(box) < most_nested;
    for (const Box& box : boxes_)
      if (box.lies_in_parent) inside_[box.parent].push_back(&box);
  }

  // As many as are drawn around it, counted to most_nested.
  static std::size_t boxes_around(const Box& box) {
    std::size_t around = 0;
    for (const Box* at = &box; at->lies_in_parent && around < most_nested; at = at->parent) ++around;
    return around;
  }

  bool serves(const Box& box, const Box& other) const {
    const Box* at = other.parent;
    for (std::size_t steps = 0; at != nullptr && steps < boxes_.size(); ++steps, at = at->parent)
      if (at == &box) return true;
    return false;
  }

  // The innermost box of this scope that serves more than half of the narrower caches.
  const Box* spine(std::size_t part) const {
    std::size_t narrower = 0;
    std::map<const Box*, std::size_t> served;
    for (const Box& box : boxes_) {
      if (box.part <= part || box.main().kind != Kind::cache) continue;
      narrower += box.members.size();
      const Box* at = box.parent;
      for (std::size_t steps = 0; at != nullptr && steps < boxes_.size(); ++steps, at = at->parent)
        if (at->part == part) served[at] += box.members.size();
    }
    const Box* best = nullptr;
    for (const Box& candidate : boxes_)
      if (2 * served[&candidate] > narrower && (best == nullptr || serves(*best, candidate))) best = &candidate;
    return best;
  }

  static std::size_t part_of(const Box& box) {
    // Where nobody knows who shares it, it lies in the GPU: that much is certain.
    const Scope scope = box.main().scope.value_or(Scope::gpu);
    const auto is_it = [&](const Part& p) { return p.scope == scope; };
    return static_cast<std::size_t>(std::find_if(parts.begin(), parts.end(), is_it) - parts.begin());
  }

  bool is_used(std::size_t part) const {
    return std::any_of(boxes_.begin(), boxes_.end(), [&](const Box& box) { return box.part == part; });
  }

  // What a part of the chip contains: its memories, and the narrower parts.
  std::vector<Node> level(std::size_t part) const {
    std::vector<Node> inner = narrower_parts(part);
    const Box* holder = inner.empty() ? nullptr : spine(part);
    std::vector<Node> nodes;
    for (const Box& box : boxes_)
      if (box.part == part && !box.lies_in_parent) nodes.push_back(box_node(box, holder, inner, 0));
    if (holder == nullptr) std::move(inner.begin(), inner.end(), std::back_inserter(nodes));
    return nodes;
  }

  std::vector<Node> narrower_parts(std::size_t part) const {
    for (std::size_t next = part + 1; next < parts.size(); ++next) {
      if (!is_used(next)) continue;
      Node node{std::string(parts[next].subtype), counted_name(parts[part], parts[next]), {}, level(next)};
      node.infos = {{"GPUTopoId", fmt::format("part_{}", to_string(parts[next].scope))}};
      if (const std::size_t count = count_of(parts[next].scope); count > 0)
        node.infos.emplace_back("Count", fmt::format("{}", count));
      for (const auto& group : groups_of(parts[next].scope)) node.infos.emplace_back("SMs", sm_list(group));
      append(node.infos, identity_infos(topology_, identity_));
      return {std::move(node)};
    }
    return {};
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
    // Several kinds of groups that nothing names lie in one part, which has the number of the first.
    const auto& groups = box.main().sm_groups;
    if (box.main().scope == Scope::group && !groups.empty() && groups.size() != groups_of(Scope::group).size())
      node.name += fmt::format(", {} in all", groups.size());
    node.infos = memory_infos(topology_, box.members);
    append(node.infos, identity_infos(topology_, identity_));
    if (const auto inside = inside_.find(&box); inside != inside_.end() && depth < boxes_.size())
      for (const Box* other : inside->second) node.children.push_back(box_node(*other, holder, inner, depth + 1));
    if (box.main().id == "l2" && !is_used(partition)) append(node.children, sides());
    if (&box == holder) std::move(inner.begin(), inner.end(), std::back_inserter(node.children));
    return node;
  }

  // The SMs of each instance of a part, as far as they were measured; none for an SM itself.
  std::vector<std::vector<std::uint32_t>> groups_of(Scope scope) const {
    if (scope == Scope::sm) return {};
    for (const Memory& m : topology_.memories)
      if (m.scope == scope && !m.sm_groups.empty()) return m.sm_groups;
    std::map<std::uint32_t, std::vector<std::uint32_t>> by_label;
    for (const SmPlace& place : topology_.sm_places) {
      const auto label = scope == Scope::tpc         ? place.tpc
                         : scope == Scope::cpc       ? place.cpc
                         : scope == Scope::gpc       ? place.gpc
                         : scope == Scope::partition ? place.l2_partition
                                                     : std::nullopt;
      if (label) by_label[*label].push_back(place.sm);
    }
    std::vector<std::vector<std::uint32_t>> groups;
    for (auto& [label, sms] : by_label) groups.push_back(std::move(sms));
    return groups;
  }

  // How many of a part the chip has; 0 where that wasn't measured.
  std::size_t count_of(Scope scope) const {
    return scope == Scope::sm ? topology_.gpu.sm_count : groups_of(scope).size();
  }

  // How many of the inner part each of the outer has; 0 where they differ or it wasn't measured.
  std::size_t count_in_each(Scope outer, Scope inner) const {
    const auto around = groups_of(outer);
    std::vector<std::size_t> counts(around.size());
    std::map<std::uint32_t, std::size_t> group_of;
    for (std::size_t i = 0; i < around.size(); ++i)
      for (const std::uint32_t sm : around[i])
        if (group_of.try_emplace(sm, i).second && inner == Scope::sm) ++counts[i];
    for (const auto& group : groups_of(inner)) {
      const auto at = group.empty() ? group_of.end() : group_of.find(group.front());
      if (at != group_of.end()) ++counts[at->second];
    }
    const bool are_equal = !counts.empty() && std::count(counts.begin(), counts.end(), counts.front()) ==
                                                  static_cast<std::ptrdiff_t>(counts.size());
    return are_equal && counts.front() * counts.size() == count_of(inner) ? counts.front() : 0;
  }

  // "GPC x8", and inside of it "SM x16"; "132 SMs in all" where the GPCs differ, since "SM x132" would read as of each.
  std::string counted_name(const Part& outer, const Part& inner) const {
    const std::size_t count = count_of(inner.scope);
    if (count == 0) return std::string(inner.name);
    const bool is_in_several = outer.scope != Scope::gpu && count_of(outer.scope) != 1;
    const std::size_t each = is_in_several ? count_in_each(outer.scope, inner.scope) : count;
    return each > 0 ? fmt::format("{} x{}", inner.name, each) : fmt::format("{} {}s in all", count, inner.name);
  }

  // The parts of an L2 that are near to some SMs and far from others, where it is known whose they are.
  std::vector<Node> sides() const {
    const auto groups = groups_of(Scope::partition);
    std::vector<Node> nodes;
    if (groups.size() < 2 || groups.size() > most_sides) return nodes;
    const Memory* l2 = topology_.find("l2");
    for (std::size_t i = 0; i < groups.size(); ++i) {
      Node& node = nodes.emplace_back(Node{std::string(parts[partition].subtype), {}, {}, {}});
      node.name = fmt::format("Side {}{}: {} SMs", i, size_suffix(l2->find("partition_size")), groups[i].size());
      node.infos = {{"GPUTopoId", fmt::format("l2_side_{}", i)}, {"SMs", sm_list(groups[i])}};
      append(node.infos, identity_infos(topology_, identity_));
    }
    return nodes;
  }

  template <class T>
  static void append(std::vector<T>& list, std::vector<T> more) {
    std::move(more.begin(), more.end(), std::back_inserter(list));
  }

  const Topology& topology_;
  const Identity& identity_;
  std::vector<Box> boxes_;
  std::map<const Box*, std::vector<const Box*>> inside_;  // what is drawn in a box
};

}  // namespace

std::vector<Node> build_tree(const Topology& topology, const Identity& identity) {
  std::vector<Node> nodes = TreeBuilder(topology, identity).build();
  if (topology.provenance.simulated)
    for (Node& node : nodes) node.name += ", simulated";
  return nodes;
}

}  // namespace gputopo::hwloc_export
