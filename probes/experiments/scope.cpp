// Which SMs have one cache together? By eviction: an SM loses lines when another one on the same cache walks its own.
#include <algorithm>

#include "evidence/looks/pair.hpp"
#include "evidence/looks/structure.hpp"
#include "experiments/experiments.hpp"
#include "experiments/sharers.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;

constexpr std::string_view scope_method = "eviction_by_other_sms";
constexpr std::uint64_t loads_a_launch = 40000;  // about a millisecond: half of what a process that shares the GPU gets

class ScopeTest {
 public:
  ScopeTest(Session& session, const CacheFacts& cache) : session_(session), cache_(cache) {}

  // Runs one pair program of `first` against each set of others; the two controls come last.
  Expected<std::vector<Tally>> against(std::uint32_t first, const SmSets& sets) {
    program::Batch batch;
    for (const auto& set : sets) batch.push_back(program(first, set, true));
    batch.push_back(program(first, {}, true));
    batch.push_back(program(first, sets.front(), false));
    std::vector<Tally> seen(batch.size());
    for (std::size_t repetition = 0; repetition < repetitions_of(cache_); ++repetition) {
      auto traces = session_.run(batch);
      if (!traces) return tl::unexpected<Error>(traces.error());
      for (std::size_t i = 0; i < seen.size(); ++i)
        seen[i] += tally_of((*traces)[i], cache_.levels, cache_.front_threshold_cycles);
    }
    for (const Tally& tally : seen) samples_ += static_cast<std::uint64_t>(tally.loads);
    return seen;
  }

  // So many others walk within a launch.
  std::size_t together() const {
    const std::uint64_t loads_a_walk = cache_.capacity_bytes * 2 / 3 / cache_.stride() * 2;
    return std::clamp<std::uint64_t>(loads_a_launch / std::max<std::uint64_t>(1, loads_a_walk), 1, 16);
  }

  std::uint64_t samples() const { return samples_; }

 private:
  program::Program program(std::uint32_t first, const std::vector<std::uint32_t>& others, bool evicts) const {
    PairSpec spec;
    spec.kept = &cache_;
    spec.evictor = evicts ? &cache_ : nullptr;
    spec.first = {first, 0};
    for (const std::uint32_t sm : others) spec.others.push_back({sm, 0});
    spec.isolation = Scope::gpu;
    spec.by_all_lanes = true;
    return pair_program(session_.info(), spec);
  }

  Session& session_;
  const CacheFacts& cache_;
  std::uint64_t samples_ = 0;
};

}  // namespace

Expected<void> measure_scope(Session& session, Findings& findings, const CachePath& path) {
  const CacheFacts* cache = findings.cache(path.id);
  if (cache == nullptr || !cache->present) return {};
  Memory& memory = findings.memory(path.id);
  if (!cache->can_be_filled()) {
    leave_scope_open(memory, scope_method, "needs the size");
    return {};
  }
  ScopeTest test(session, *cache);
  auto sharers = find_sharers(session.info().gpu.sm_count, test.together(),
                              [&](std::uint32_t first, const SmSets& sets) { return test.against(first, sets); });
  if (!sharers) return tl::unexpected<Error>(sharers.error());
  state_sharers(session, memory, *sharers, scope_method, test.samples(), share_of_lines_lost);
  return {};
}

}  // namespace gputopo::experiments
