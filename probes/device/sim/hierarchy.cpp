#include "device/sim/hierarchy.hpp"

#include <bit>

namespace gputopo::sim {
namespace {

constexpr std::array<Scope, 6> scopes{Scope::sm, Scope::tpc, Scope::cpc, Scope::gpc, Scope::partition, Scope::gpu};

// In [-1, 1], the same for the same group and slice.
double place_offset(Scope scope, std::uint32_t group, std::uint64_t slice) {
  const std::uint64_t bits = mix(mix(slice) ^ (std::uint64_t{group} << 8 | static_cast<std::uint64_t>(scope)));
  return static_cast<double>(bits >> 11) * 0x1p-52 - 1.0;
}

// -1 for a slice on the SM's side of the chip, and what balances it for the others; 0 on average over the slices.
double side_offset(std::uint32_t group, std::uint64_t groups, std::uint64_t slice) {
  if (groups < 2) return 0;
  return mix(slice) % groups == group ? -1.0 : 1.0 / static_cast<double>(groups - 1);
}

bool has_any_distance(const DistanceModel& d) {
  return d.partition_cycles != 0 || d.gpc_cycles != 0 || d.cpc_cycles != 0 || d.tpc_cycles != 0 || d.sm_cycles != 0;
}

}  // namespace

Hierarchy::Hierarchy(const Model& model) : model_(&model), has_distance_(has_any_distance(model.distance)) {
  for (const Scope scope : scopes) {
    auto& group = group_[static_cast<std::size_t>(scope)];
    group.assign(model.gpu.sm_count, 0);
    const auto groups = sm_groups(model, scope);
    for (std::uint32_t g = 0; g < groups.size(); ++g)
      for (const std::uint32_t sm : groups[g]) group[sm] = g;
  }
  for (const CacheModel& c : model.caches) units_.emplace_back(sm_groups(model, c.scope).size() * c.instances);
  for (const TlbModel& t : model.tlbs) tlbs_.emplace_back(sm_groups(model, t.scope).size());
  const std::uint64_t smallest = model.shared ? model.shared->carve_outs_bytes.front() : 0;
  carve_outs_.assign(model.gpu.sm_count, smallest);
}

CacheUnit& Hierarchy::unit(std::size_t cache, std::uint32_t sm, std::uint32_t warp) {
  const CacheModel& c = model_->caches[cache];
  const std::uint32_t instance = group_of(c.scope, sm) * c.instances + c.warp_map[warp % c.warp_map.size()];
  auto& slot = units_[cache][instance];
  if (!slot) {
    const bool carved = model_->shared && model_->shared->carved_from == cache;
    slot = std::make_unique<CacheUnit>(c, carved ? carve_outs_[sm] : 0);
  }
  return *slot;
}

CacheArray& Hierarchy::tlb(std::size_t index, std::uint32_t sm) {
  const TlbModel& t = model_->tlbs[index];
  auto& slot = tlbs_[index][group_of(t.scope, sm)];
  if (!slot) slot = std::make_unique<CacheArray>(t.organisation, t.entries);
  return *slot;
}

void Hierarchy::set_carve_out(std::uint32_t sm, std::uint64_t bytes) {
  if (carve_outs_[sm] == bytes) return;
  carve_outs_[sm] = bytes;
  if (model_->shared && model_->shared->carved_from) units_[*model_->shared->carved_from][sm].reset();
}

void Hierarchy::launch(std::uint32_t sm) {
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const CacheModel& c = model_->caches[i];
    if (!c.cleared_at_launch) continue;
    const std::size_t first = std::size_t{group_of(c.scope, sm)} * c.instances;
    for (std::size_t unit = first; unit < first + c.instances; ++unit)
      if (units_[i][unit]) units_[i][unit]->clear();
  }
}

Route Hierarchy::route(const PathModel& path, std::uint32_t sm, std::uint32_t warp, bool probe_private) {
  Route route;
  route.sm = sm;
  route.partition = group_of(Scope::partition, sm);
  for (const Level& level : path) {
    Route::Station s{};
    s.latency_cycles = level.latency_cycles;
    s.far_latency_cycles = level.far_latency_cycles;
    s.tag_class = level.tag_class;
    const bool private_cache = level.cache && model_->caches[*level.cache].scope != Scope::gpu;
    s.probe = probe_private && private_cache;
    s.distant = has_distance_ && !private_cache;
    if (level.cache) s.unit = &unit(*level.cache, sm, warp);
    for (const std::size_t t : level.tlbs)
      s.tlbs.push_back({&tlb(t, sm), static_cast<std::uint32_t>(std::countr_zero(model_->tlbs[t].page_bytes)),
                        model_->tlbs[t].miss_cycles, ~std::uint64_t{0}});
    route.stations.push_back(std::move(s));
  }
  return route;
}

double Hierarchy::load(Route& route, std::uint64_t address, Random& random) {
  double extra_cycles = 0;
  bool far_memory = false;
  for (Route::Station& s : route.stations) {
    for (Route::Tlb& t : s.tlbs) {
      const std::uint64_t page = address >> t.page_shift;
      if (page == t.latest_page) break;
      t.latest_page = page;
      if (t.array->access(page, 0, 1, random)) break;
      extra_cycles += t.miss_cycles;
    }
    bool far = far_memory;
    if (s.unit != nullptr) {
      const Outcome outcome = s.unit->access(address, s.tag_class, route.partition, s.probe, random);
      if (outcome == Outcome::miss) {
        far_memory = s.unit->is_partitioned() && s.unit->home_of(address) != route.partition;
        continue;
      }
      far = outcome == Outcome::far_hit;
    }
    if (s.distant) extra_cycles += distance_cycles(route.sm, address);
    return (far ? s.far_latency_cycles : s.latency_cycles) + extra_cycles;
  }
  return extra_cycles;
}

void Hierarchy::pass(const Route& route, std::uint64_t address, Random& random) {
  for (const Route::Station& s : route.stations)
    if (s.unit == nullptr || s.unit->pass(address, s.tag_class, random)) return;
}

double Hierarchy::distance_cycles(std::uint32_t sm, std::uint64_t address) const {
  const DistanceModel& d = model_->distance;
  const std::uint64_t slice = address / d.slice_bytes;
  double cycles =
      d.partition_cycles * side_offset(group_of(Scope::partition, sm), model_->groups.partition.size(), slice);
  for (const auto& [scope, amplitude] : {std::pair{Scope::gpc, d.gpc_cycles}, std::pair{Scope::cpc, d.cpc_cycles},
                                         std::pair{Scope::tpc, d.tpc_cycles}, std::pair{Scope::sm, d.sm_cycles}})
    if (amplitude != 0) cycles += amplitude * place_offset(scope, group_of(scope, sm), slice);
  return cycles;
}

}  // namespace gputopo::sim
