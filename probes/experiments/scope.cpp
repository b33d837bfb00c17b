// Which SMs have one cache together? By eviction: an SM loses lines when another one on the same cache walks its own.
#include <algorithm>
#include <numeric>

#include "evidence/pair.hpp"
#include "evidence/structure.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;

constexpr std::string_view method = "eviction_by_other_sms";
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
    auto traces = session_.run(batch);
    if (!traces) return tl::unexpected<Error>(traces.error());
    std::vector<Tally> seen;
    for (const auto& trace : *traces) {
      seen.push_back(tally_of(trace, cache_.levels));
      samples_ += static_cast<std::uint64_t>(seen.back().loads);
    }
    return seen;
  }

  // The SMs that share with `first`, itself included; nothing where some can't be told.
  Expected<std::vector<std::uint32_t>> sharers(std::uint32_t first, const std::vector<std::uint32_t>& others) {
    const std::uint64_t loads_a_walk = cache_.capacity_bytes * 2 / 3 / cache_.stride() * 2;
    const std::size_t together =
        std::clamp<std::uint64_t>(loads_a_launch / std::max<std::uint64_t>(1, loads_a_walk), 1, 16);
    SmSets open;
    for (std::size_t i = 0; i < others.size(); i += together)
      open.emplace_back(others.begin() + static_cast<std::ptrdiff_t>(i),
                        others.begin() + static_cast<std::ptrdiff_t>(std::min(i + together, others.size())));
    std::vector<std::uint32_t> found{first};
    while (!open.empty()) {
      auto seen = against(first, open);
      if (!seen) return tl::unexpected<Error>(seen.error());
      SmSets next;
      for (std::size_t i = 0; i < open.size(); ++i) {
        const Sameness s = sameness((*seen)[i], (*seen)[open.size()], (*seen)[open.size() + 1]);
        sure_ = std::min(sure_, s.sure());
        if (s.is_apart()) continue;
        if (open[i].size() > 1) {
          for (const std::uint32_t sm : open[i]) next.push_back({sm});
        } else if (s.is_same()) {
          found.push_back(open[i].front());
        } else {
          problem_ = true;
        }
      }
      open = std::move(next);
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  bool has_problem() const { return problem_; }
  double sure() const { return sure_; }  // of the least sure answer
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
  bool problem_ = false;
  double sure_ = 1;
  std::uint64_t samples_ = 0;
};

// Each SM alone needs no more than a look from both ends of the chip: a cache that some SMs shared would be shared by
// these, since every instance serves as many, give or take what is switched off.
constexpr std::size_t lone_sms_that_decide = 2;

}  // namespace

Expected<void> measure_scope(Session& session, Findings& findings, const CachePath& path) {
  const CacheFacts* cache = findings.cache(path.id);
  if (cache == nullptr || !cache->present) return {};
  Memory& memory = findings.memory(path.id);
  if (!cache->can_be_filled()) {
    leave_scope_open(memory, method, "needs the size");
    return {};
  }
  ScopeTest test(session, *cache);
  const std::uint32_t sms = session.info().gpu.sm_count;
  std::vector<std::uint32_t> open(sms);
  std::iota(open.begin(), open.end(), 0U);
  SmSets groups;
  bool from_the_end = false;
  while (!open.empty()) {
    const std::uint32_t first = from_the_end ? open.back() : open.front();
    from_the_end = !from_the_end;
    std::erase(open, first);
    auto group = test.sharers(first, open);
    if (!group) return tl::unexpected<Error>(group.error());
    for (const std::uint32_t sm : *group) std::erase(open, sm);
    groups.push_back(*group);
    const bool all_alone = std::all_of(groups.begin(), groups.end(), [](const auto& g) { return g.size() == 1; });
    if (test.has_problem()) break;
    if (all_alone && groups.size() >= lone_sms_that_decide) {
      for (const std::uint32_t sm : open) groups.push_back({sm});
      break;
    }
  }
  std::sort(groups.begin(), groups.end());
  if (test.has_problem())
    leave_scope_open(memory, method,
                     "other SMs push out some of what an SM loaded, but not as one on the same cache would");
  else
    set_scope(memory, groups, method, test.samples(), test.sure());
  return {};
}

}  // namespace gputopo::experiments
