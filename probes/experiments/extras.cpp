#include "experiments/extras.hpp"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "experiments/chip_map.hpp"
#include "experiments/constant_modules.hpp"
#include "experiments/displacement.hpp"
#include "experiments/estimates.hpp"
#include "experiments/instances.hpp"
#include "experiments/l2_search.hpp"
#include "experiments/modes.hpp"
#include "experiments/samples.hpp"
#include "experiments/sharing.hpp"
#include "experiments/sm_groups.hpp"

namespace gputopo::experiments {
namespace {

// Texture lines can't be probed, but they push out global lines, which can.
Expected<void> refine_by_displacement(Session& session, const Sharer& global, const Sharer& other, SmCache& cache) {
  const bool probes = session.info().has_no_allocate && session.options().method == Method::standard;
  const Estimate* line = cache.memory.find("line_size");
  if (!probes || global.path.id != "l1" || other.path.id != "texture" || line == nullptr || !line->has_value())
    return {};
  auto exact = measure_displacement(session, global, other, static_cast<std::uint64_t>(*line->value));
  if (!exact) return tl::unexpected<Error>(exact.error());
  if (!*exact) return {};
  // Both only ever fall short: a footprint that fits is no more than the capacity, and a disturbance hides lines.
  Estimate& size = cache.memory.attributes["size"];
  const double found = (*exact)->value.value_or(0);
  if (size.has_value() && found > *size.value && found - *size.value <= 0.02 * *size.value) size = **exact;
  return {};
}

// Loads that don't allocate look into the cache of global loads, and tell nothing of read-only loads with another one.
bool can_be_probed(const Session& session, const Sharer& s) {
  return session.info().has_no_allocate && s.cache->memory.physical_cache == "l1";
}

Expected<SharingCheck> check_sharing(Session& session, const Sharer& a, const Sharer& b) {
  SharingCheck check{a.cache->memory.id, b.cache->memory.id, {}, {}};
  auto eviction = test_eviction(session, a, b);
  if (!eviction) return tl::unexpected<Error>(eviction.error());
  check.tests.push_back(*eviction);
  const bool first = can_be_probed(session, a);
  if (first || can_be_probed(session, b)) {
    const Sharer& global = first ? a : b;
    const Sharer& other = first ? b : a;
    const Estimate* line = other.cache->memory.find("line_size");
    if (line != nullptr && line->has_value()) {
      auto residency = test_residency(session, global, other, static_cast<std::uint64_t>(*line->value));
      if (!residency) return tl::unexpected<Error>(residency.error());
      check.tests.push_back(*residency);
    }
  }
  check.verdict = verdict_of(check.tests);
  return check;
}

Statement found_structure(std::string value, std::string_view method, std::uint64_t samples) {
  Statement s;
  s.value = std::move(value);
  s.status = Status::measured;
  s.method = method;
  s.samples = samples;
  return s;
}

std::uint64_t samples_of(const SharingCheck& check) {
  std::uint64_t samples = 0;
  for (const SharingTest& test : check.tests) samples += test.samples;
  return samples;
}

Scope scope_of(const std::vector<std::vector<std::uint32_t>>& groups, std::uint32_t sm_count) {
  if (groups.size() == 1) return Scope::gpu;
  if (groups.size() == sm_count) return Scope::sm;
  return Scope::group;
}

Expected<void> find_groups(Session& session, const SmCache& constant_l1, ConstantL15& cache, Provenance& provenance) {
  auto groups = measure_sm_groups(session, constant_l1, cache.line_bytes, cache.threshold_cycles);
  if (!groups) return tl::unexpected<Error>(groups.error());
  if (groups->groups.empty()) {
    provenance.notes.push_back("which SMs share the constant L1.5 isn't known: " + groups->problem);
    return {};
  }
  const Scope scope = scope_of(groups->groups, session.info().gpu.sm_count);
  cache.memory.scope = scope;
  cache.memory.structure["scope"] = found_structure(std::string(to_string(scope)), "code_eviction", groups->samples);
  if (scope == Scope::group) cache.memory.sm_groups = groups->groups;
  cache.memory.attributes["instances"] =
      measured(static_cast<double>(groups->groups.size()), "", "code_eviction", groups->samples);
  return {};
}

// Hopper's GPCs fall into three CPCs of up to three TPCs (NVIDIA H100 Tensor Core GPU Architecture, 2022); no other
// generation's do. The shape is taken from there, which SMs belong to which is measured.
CpcShape cpc_shape(const Gpu& gpu) {
  return gpu.compute_capability.starts_with("9.") ? CpcShape{3, 3} : CpcShape{};
}

// Near and far hits as the first SM of each side sees them.
Expected<void> find_side_latencies(Session& session, const SmSets& sides, L2& l2) {
  const Estimate* one_side = l2.memory.find("partition_size");
  const Estimate* line = l2.memory.find("line_size");
  if (one_side == nullptr || !one_side->has_value() || line == nullptr || !line->has_value()) return {};
  std::vector<std::uint32_t> sms;
  for (const auto& side : sides) sms.push_back(side.front());
  // Half as much again as one side holds: a third of the lines has its home there and no copy here.
  const auto bytes = static_cast<std::uint64_t>(1.5 * *one_side->value) / 4096 * 4096;
  auto rows = l2_rows_from(session, sms, bytes, static_cast<std::uint64_t>(*line->value));
  if (!rows) return tl::unexpected<Error>(rows.error());
  for (std::size_t side = 0; side < sides.size(); ++side) {
    const auto modes = modes_of((*rows)[side].timed, 0.1);
    if (modes.size() < 2) continue;
    const auto add = [&](const char* name, const Mode& mode) {
      Estimate& e = l2.memory.attributes[fmt::format("{}_from_side_{}", name, side)];
      e = measured(mode.median - l2.overhead_cycles, "cycles", "timed_hits", total((*rows)[side].timed));
      e.interval = Interval{mode.low_quartile - l2.overhead_cycles, mode.high_quartile - l2.overhead_cycles};
    };
    add("near_latency", modes[0]);
    add("far_latency", modes[1]);
  }
  return {};
}

Expected<void> find_map(Session& session, L2& l2, const SmSets& gpcs, std::vector<SmPlace>& places,
                        Provenance& provenance) {
  constexpr std::size_t lines = 1024;
  auto latencies = measure_latency_vectors(session, lines);
  if (!latencies) return tl::unexpected<Error>(latencies.error());
  const ChipMap map = map_of(*latencies, gpcs, cpc_shape(session.info().gpu));
  if (!map.problem.empty()) {
    provenance.notes.push_back("where SMs sit isn't known: " + map.problem);
    return {};
  }
  places = map.places;
  auto& attributes = l2.memory.attributes;
  if (map.partitions.size() == 2) {
    attributes["partitions"] = measured(2, "", "latency_correlation", lines * places.size());
    attributes["partition_separation"] =
        measured(map.partition_separation, "", "latency_correlation", lines * places.size());
    if (auto ok = find_side_latencies(session, map.partitions, l2); !ok) return ok;
  }
  if (map.cpc_separation > 0)
    attributes["cpc_separation"] = measured(map.cpc_separation, "", "latency_correlation", lines * places.size());
  else if (map.cpc_separation < 0)
    attributes["cpc_separation"] =
        inconclusive("", "latency_correlation", "latencies don't tell the CPCs of some GPC apart");
  return {};
}

}  // namespace

Expected<void> find_sharing(Session& session, std::span<const Measured> caches, std::vector<SharingCheck>& checks) {
  for (std::size_t i = 0; i < caches.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const Sharer a{caches[j].path, caches[j].cache};
      const Sharer b{caches[i].path, caches[i].cache};
      if (a.cache->memory.physical_cache != a.cache->memory.id) continue;
      auto check = check_sharing(session, a, b);
      if (!check) return tl::unexpected<Error>(check.error());
      checks.push_back(*check);
      if (check->verdict != "same") continue;
      caches[i].cache->memory.physical_cache = a.cache->memory.physical_cache;
      if (auto ok = refine_by_displacement(session, a, b, *caches[i].cache); !ok) return ok;
      break;
    }
  }
  return {};
}

void keep_measured_identity(Memory& memory, std::span<const SharingCheck> checks) {
  bool is_one = false, is_apart = false, is_open = false;
  std::uint64_t samples = 0;
  for (const SharingCheck& c : checks) {
    if (c.first != memory.id && c.second != memory.id) continue;
    if (c.second == "instruction") {
      if (c.verdict != "inconclusive")
        memory.structure["code"] =
            found_structure(c.verdict == "same" ? "shared" : "apart", "code_eviction", samples_of(c));
      continue;
    }
    is_one = is_one || c.verdict == "same";
    is_apart = is_apart || c.verdict == "apart";
    is_open = is_open || c.verdict == "inconclusive";
    samples += samples_of(c);
  }
  if (is_one || (is_apart && !is_open))
    memory.structure["physical_cache"] = found_structure(memory.physical_cache, "eviction", samples);
  else
    memory.physical_cache.clear();
}

Expected<void> find_code_sharing(Session& session, const ConstantL15& cache, std::vector<SharingCheck>& checks) {
  const Estimate* size = cache.memory.find("size");
  const bool known =
      size != nullptr && size->has_value() && (size->status == Status::measured || size->status == Status::lower_bound);
  if (cache.line_bytes == 0 || !known || !session.info().has_execute) return {};
  const auto capacity = static_cast<std::uint64_t>(*size->value);
  // Code that fits beside the constants would say nothing.
  if (session.info().execute_limit_bytes < capacity * 3 / 2) return {};
  auto test = test_code_eviction(session, cache, capacity);
  if (!test) return tl::unexpected<Error>(test.error());
  checks.push_back({cache.memory.id, "instruction", verdict_of(std::array{*test}), {*test}});
  return {};
}

Expected<void> find_instances(Session& session, std::span<const Measured> caches) {
  for (const Measured& m : caches) {
    auto found = measure_instances(session, m.path, *m.cache);
    if (!found) return tl::unexpected<Error>(found.error());
    Memory& memory = m.cache->memory;
    // With one warp there was nothing to compare.
    if (found->of_warp.size() > 1) {
      memory.instances_per_scope = found->count;
      memory.structure["instances_per_scope"] =
          found_structure(std::to_string(found->count), "eviction", found->samples);
    }
    memory.warp_instances = found->of_warp;
    memory.disturbance = found->disturbance;
  }
  return {};
}

Expected<void> find_constant_size(Session& session, ConstantL15& cache) {
  Estimate& size = cache.memory.attributes["size"];
  if (size.status != Status::lower_bound || cache.line_bytes == 0 || session.info().constant_modules < 2) return {};
  auto found = measure_constant_modules(session, cache);
  // Where kernels don't run side by side (a debugger, CUDA_LAUNCH_BLOCKING), one bank is all there is.
  if (!found && found.error().kind == Error::Kind::unavailable) {
    size.note += "; the banks of several modules can't be walked here: " + found.error().message;
    return {};
  }
  if (!found) return tl::unexpected<Error>(found.error());
  Estimate beyond = to_estimate(*found, "B");
  const bool is_more = beyond.has_value() && *beyond.value >= *size.value;
  if (!is_more || (beyond.status != Status::measured && beyond.status != Status::lower_bound)) return {};
  beyond.method = "modules";
  if (beyond.status == Status::lower_bound) beyond.note = "the constants of all modules that run side by side fit";
  size = beyond;
  return {};
}

Expected<void> find_places(Session& session, const SmCache* constant_l1, ConstantL15* constant_l1_5, L2* l2,
                           std::vector<SmPlace>& places, Provenance& provenance) {
  SmSets gpcs;
  if (constant_l1 != nullptr && constant_l1_5 != nullptr && constant_l1_5->line_bytes != 0) {
    if (auto ok = find_groups(session, *constant_l1, *constant_l1_5, provenance); !ok) return ok;
    // Groups of two or three SMs (a TPC's) would say nothing of where a GPC ends.
    const auto& groups = constant_l1_5->memory.sm_groups;
    if (!groups.empty() && session.info().gpu.sm_count / groups.size() > 3) gpcs = groups;
  }
  if (l2 == nullptr || l2->capacity_bytes == 0 || session.info().gpu.sm_count < 2) return {};
  return find_map(session, *l2, gpcs, places, provenance);
}

}  // namespace gputopo::experiments
