// Which SMs form a TPC, a CPC and a GPC? What they share was found by eviction; here two other ways say it again: on
// which SMs clusters of blocks are put, and how alike SMs see the same lines of the L2.
#include "evidence/chip/chip_parts.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "evidence/chip/sm_latencies.hpp"
#include "evidence/inference/curves.hpp"
#include "evidence/inference/estimates.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;

constexpr std::uint32_t largest_cluster = 16;
constexpr std::uint64_t chip_parts_stay_cycles = 20000;
constexpr std::size_t chip_parts_lines = 768;
constexpr std::size_t chip_parts_looks = 4;
constexpr std::uint64_t chip_parts_alone_bytes = std::uint64_t{120} << 10U;  // lets no second block on an SM of 228 KiB

// The SMs of each cluster of 2 to 16 blocks, of as many as the GPU has SMs for; none where it has no clusters.
Expected<SmSets> sms_of_clusters(Session& session) {
  SmSets clusters;
  for (std::uint32_t size = 2; size <= largest_cluster; ++size) {
    program::Workload w;
    w.kernel = fmt::format("cluster_places_{}", size);
    w.label = fmt::format("where clusters of {} are put", size);
    w.threads = program::warp_lanes;
    w.blocks = session.info().gpu.sm_count / size * size;
    w.shared_bytes = chip_parts_alone_bytes;
    w.numbers = {chip_parts_stay_cycles};
    w.output_words = w.blocks;
    w.timed = false;
    if (w.blocks == 0) break;
    const auto trace = session.device().run_workload(w);
    if (!trace && trace.error().kind == Error::Kind::interrupted) return tl::unexpected<Error>(trace.error());
    if (!trace) break;  // above 8 not every GPU's, and none before Hopper
    // Of a part of a GPU SMs may have numbers beyond its own.
    const auto is_known = [&](std::uint32_t sm) { return sm < session.info().gpu.sm_count; };
    if (!std::all_of(trace->output.begin(), trace->output.end(), is_known) || trace->output.size() != w.blocks)
      return SmSets{};
    for (std::uint32_t first = 0; first < w.blocks; first += size) {
      auto& cluster = clusters.emplace_back(trace->output.begin() + first, trace->output.begin() + first + size);
      std::sort(cluster.begin(), cluster.end());
    }
  }
  return clusters;
}

// Partitions of the SMs that experiments found, each once.
std::vector<SmSets> found_groups(const Findings& findings) {
  std::vector<SmSets> all;
  for (const Memory& m : findings.topology.memories) {
    if (m.scope != Scope::group) continue;
    SmSets groups = m.sm_groups;
    for (auto& group : groups) std::sort(group.begin(), group.end());
    std::sort(groups.begin(), groups.end());
    if (std::find(all.begin(), all.end(), groups) == all.end()) all.push_back(std::move(groups));
  }
  return all;
}

// How alike an SM and the others of its part see the L2, and it and the nearest other part of its GPC.
DecidingCurve cpc_curve(const Correlations& r, const ChipParts& parts, std::string_view memory) {
  DecidingCurve curve =
      make_curve(memory, "cpc_separation", {"SM", "", false}, {"correlation of the L2's latencies", "", false});
  Series own{"with its own CPC", {}}, other{"with the next best one of its GPC", {}};
  for (std::uint32_t sm = 0; sm < r.size(); ++sm) {
    const auto has = [&](const std::vector<std::uint32_t>& set) {
      return std::find(set.begin(), set.end(), sm) != set.end();
    };
    const auto& gpc = *std::find_if(parts.gpc->begin(), parts.gpc->end(), has);
    double best = -1;
    for (const auto& cpc : *parts.cpc) {
      if (has(cpc))
        own.points.emplace_back(sm, r.with(sm, cpc));
      else if (std::find(gpc.begin(), gpc.end(), cpc.front()) != gpc.end())
        best = std::max(best, r.with(sm, cpc));
    }
    if (best > -1) other.points.emplace_back(sm, best);
  }
  curve.series = {std::move(own), std::move(other)};
  return curve;
}

}  // namespace

Expected<void> measure_chip_parts(Session& session, Findings& findings) {
  const std::vector<SmSets> groups = found_groups(findings);
  const CacheFacts* l2 = findings.cache("l2");
  if (groups.empty() || l2 == nullptr || !l2->present) return {};
  const auto clusters = sms_of_clusters(session);
  if (!clusters) return tl::unexpected<Error>(clusters.error());
  if (clusters->empty()) return {};
  const auto latencies = latencies_by_sm(session, chip_parts_lines, chip_parts_looks);
  if (!latencies) return tl::unexpected<Error>(latencies.error());
  const Correlations r(*latencies);
  const ChipParts parts = chip_parts(groups, *clusters, r);

  auto& places = findings.topology.sm_places;
  const auto name = [&](const std::optional<SmSets>& sets, Scope scope, std::optional<std::uint32_t> SmPlace::*label,
                        const std::string& how) {
    if (!sets) return;
    places.resize(session.info().gpu.sm_count);
    for (std::uint32_t sm = 0; sm < places.size(); ++sm) places[sm].sm = sm;
    for (std::uint32_t i = 0; i < sets->size(); ++i)
      for (const std::uint32_t sm : (*sets)[i]) places[sm].*label = i;
    for (Memory& m : findings.topology.memories) {
      SmSets of_memory = m.sm_groups;
      std::sort(of_memory.begin(), of_memory.end());
      if (m.scope != Scope::group || of_memory != *sets) continue;
      m.scope = scope;
      Statement& statement = m.structure["scope"];
      statement.value = std::string(to_string(scope));
      statement.note = how;
      if (scope != Scope::cpc) continue;
      m.attributes["cpc_separation"] =
          measured(parts.cpc_separation, "", "latency_correlation", chip_parts_lines * places.size());
      session.keep(cpc_curve(r, parts, m.id));
    }
  };
  name(parts.tpc, Scope::tpc, &SmPlace::tpc, "clusters of two blocks are put on just these SMs");
  name(parts.cpc, Scope::cpc, &SmPlace::cpc, "each SM sees the L2 most like those of its own, of its GPC's");
  name(parts.gpc, Scope::gpc, &SmPlace::gpc,
       fmt::format("none of {} clusters of blocks is of two; these and smaller groups join {} of {} SMs to their own",
                   clusters->size(), parts.joined_sms, places.size()));
  return {};
}

}  // namespace gputopo::experiments
