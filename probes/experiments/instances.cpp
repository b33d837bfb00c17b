// How many instances of a cache does an SM have, and which warps use which? (Größler 2022, section 4.6.) By eviction
// between two warps of one SM.
#include <algorithm>

#include <fmt/format.h>

#include "evidence/inference/curves.hpp"
#include "evidence/looks/pair.hpp"
#include "evidence/looks/structure.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;

constexpr std::string_view instances_method = "eviction_by_other_warps";
constexpr std::uint32_t most_warps = 32;
constexpr std::uint32_t most_instances = 8;

program::Program warps_program(const device::DeviceInfo& info, const CacheFacts& cache, std::uint32_t first,
                               std::uint32_t second, bool evicts) {
  PairSpec spec;
  spec.kept = &cache;
  spec.evictor = evicts ? &cache : nullptr;
  spec.first = {std::nullopt, first};
  spec.others = {{std::nullopt, second}};
  return pair_program(info, spec);
}

}  // namespace

Expected<void> measure_instances(Session& session, Findings& findings, const CachePath& path) {
  const CacheFacts* cache = findings.cache(path.id);
  if (cache == nullptr || !cache->present) return {};
  Memory& memory = findings.memory(path.id);
  const auto leave_open = [&](std::string_view why) {
    memory.structure["instances_per_scope"] = undecided(instances_method, why);
    return Expected<void>{};
  };
  if (!cache->can_be_filled()) return leave_open("needs the size");
  if (memory.scope != Scope::sm) return leave_open("an SM doesn't have it to itself");
  const std::uint32_t warps = std::min(most_warps, session.info().warps_per_block);
  // Neighbours may use one instance, and as many warps as there can be instances reach all that there are.
  if (warps < most_instances) return leave_open(fmt::format("{} warps are all that there are", warps));
  std::vector<std::uint32_t> instance_of(warps, most_instances);
  memory.disturbance.assign(warps, 0);
  std::uint32_t count = 0;
  std::uint64_t samples = 0;
  double sure = 1;  // of the least sure pair
  std::vector<Asked> asked;
  for (; count < most_instances; ++count) {
    const auto open = std::find(instance_of.begin(), instance_of.end(), most_instances);
    if (open == instance_of.end()) break;
    const auto first = static_cast<std::uint32_t>(open - instance_of.begin());
    *open = count;
    // A warp against itself is one instance by construction; against nobody nothing is lost.
    program::Batch batch{warps_program(session.info(), *cache, first, first, true),
                         warps_program(session.info(), *cache, first, first, false)};
    std::vector<std::uint32_t> tried;
    for (std::uint32_t warp = first + 1; warp < warps; ++warp) {
      if (instance_of[warp] != most_instances) continue;
      tried.push_back(warp);
      batch.push_back(warps_program(session.info(), *cache, first, warp, true));
    }
    std::vector<Tally> seen(batch.size());
    for (std::size_t repetition = 0; repetition < repetitions_of(*cache); ++repetition) {
      auto traces = session.run(batch);
      if (!traces) return tl::unexpected<Error>(traces.error());
      for (std::size_t i = 0; i < seen.size(); ++i) seen[i] += tally_of((*traces)[i], cache->levels);
    }
    for (const Tally& tally : seen) samples += static_cast<std::uint64_t>(tally.loads);
    asked.push_back({first, {}, seen[0].share(), seen[1].share()});
    for (std::size_t i = 0; i < tried.size(); ++i) asked.back().lost_to[tried[i]] = seen[i + 2].share();
    session.keep(asked_curve(path.id, "instances_per_scope", "warp", share_of_lines_lost, asked));
    for (std::size_t i = 0; i < tried.size(); ++i) {
      const Sameness s = sameness(seen[i + 2], seen[0], seen[1]);
      if (first == 0) memory.disturbance[tried[i]] = seen[i + 2].share();
      if (!s.decided)
        return leave_open(fmt::format("warps {} and {} can't be told to share an instance or not", first, tried[i]));
      sure = std::min(sure, s.sure());
      if (s.is_same()) instance_of[tried[i]] = count;
    }
  }
  // Each instance has as many of an SM's warps as any other: whichever warps were told apart otherwise, it wasn't by
  // what they have in common.
  for (std::uint32_t instance = 0; instance < count; ++instance)
    if (count * std::count(instance_of.begin(), instance_of.end(), instance) != warps)
      return leave_open("what warps push out of one another's lines divides them unequally, as no instances would");
  memory.instances_per_scope = count;
  memory.warp_instances = instance_of;
  memory.structure["instances_per_scope"] = decided(fmt::format("{}", count), instances_method, samples, sure);
  return {};
}

}  // namespace gputopo::experiments
