// Which kinds of load share one physical cache? By eviction (Größler 2022, section 4.5): fill through one path, walk
// through the other, look whether the first one's data is still there; held against the same path's own walk and
// against no walk at all. Where one of a pair can be probed without changing it, that is a second opinion.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "evidence/held/agreed_size.hpp"
#include "evidence/inference/curves.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/looks/pair.hpp"
#include "evidence/looks/residency.hpp"
#include "evidence/looks/structure.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;

struct Verdict {
  Sameness same;
  SharingTest test;
};

// What is left of `kept` after `evictor` walked.
Expected<Verdict> evicted(Session& session, const CacheFacts& kept, const CacheFacts& evictor, DecidingCurve& curve) {
  constexpr std::size_t repetitions = 4;  // neighbouring programs may meet a cache in other states
  PairSpec spec;
  spec.kept = &kept;
  spec.by_all_lanes = true;
  program::Batch batch;
  // The control of 'the same' walks as much as the other path does, so that less of it isn't taken for apart.
  CacheFacts like = kept;
  like.capacity_bytes = std::min(kept.capacity_bytes, evictor.capacity_bytes);
  for (const CacheFacts* by :
       {&evictor, static_cast<const CacheFacts*>(&like), static_cast<const CacheFacts*>(nullptr)}) {
    spec.evictor = by;
    batch.insert(batch.end(), repetitions, pair_program(session.info(), spec));
  }
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  std::array<Replicates, 3> runs;
  Tally seen;
  for (std::size_t i = 0; i < traces->size(); ++i) {
    runs[i / repetitions].push_back(tally_of((*traces)[i], kept.levels));
    if (i < repetitions) seen += runs[0].back();
  }
  const auto lost = [&](std::string_view to, std::uint64_t bytes, const Replicates& by) {
    add_lost_to(curve, {fmt::format("{} to {}", kept.path.id, to), static_cast<double>(bytes), by}, runs[2]);
  };
  lost(evictor.path.id, evictor.capacity_bytes, runs[0]);
  lost("itself (control)", like.capacity_bytes, runs[1]);
  Verdict v;
  v.same = sameness(runs[0], runs[1], runs[2]);
  v.test = {"eviction", std::string(verdict_of(v.same)), seen.share(), static_cast<std::uint64_t>(seen.loads)};
  return v;
}

// Both ways where both are about as large, else the smaller one's data is what is looked for.
Expected<SharingCheck> check(Session& session, const CacheFacts& a, const CacheFacts& b, DecidingCurve& curve) {
  SharingCheck result{std::string(a.path.id), std::string(b.path.id), "inconclusive", {}};
  const bool a_smaller = a.capacity_bytes <= b.capacity_bytes;
  const CacheFacts& small = a_smaller ? a : b;
  const CacheFacts& large = a_smaller ? b : a;
  auto forth = evicted(session, small, large, curve);
  if (!forth) return tl::unexpected<Error>(forth.error());
  result.tests.push_back(forth->test);
  const bool similar = 4 * small.capacity_bytes >= 3 * large.capacity_bytes;
  if (similar) {
    auto back = evicted(session, large, small, curve);
    if (!back) return tl::unexpected<Error>(back.error());
    result.tests.push_back(back->test);
  }
  const std::string& first = result.tests.front().verdict;
  const bool agree =
      std::all_of(result.tests.begin(), result.tests.end(), [&](const SharingTest& t) { return t.verdict == first; });
  if (agree && first != "undecided") result.verdict = first;
  return result;
}

}  // namespace

Expected<void> measure_sharing(Session& session, Findings& findings) {
  std::vector<CacheFacts*> caches;
  std::vector<std::string> uncompared;  // that are there, or may be
  for (const CachePath& path : {l1_path, texture_path, read_only_path, constant_path}) {
    CacheFacts* cache = findings.cache(path.id);
    if (cache == nullptr) continue;
    Memory& memory = findings.memory(path.id);
    const Estimate* latency = memory.find("latency");
    if (!cache->can_be_filled()) {
      if (latency != nullptr && latency->status != Status::not_supported) uncompared.emplace_back(path.id);
      if (cache->present) memory.structure["physical_cache"] = undecided("eviction", "needs the size");
      continue;
    }
    std::string same_as;
    bool open = false;
    std::uint64_t samples = 0;
    DecidingCurve curve = lost_to_curve(path.id, "physical_cache");
    for (const CacheFacts* other : caches) {
      auto result = check(session, *other, *cache, curve);
      if (!result) return tl::unexpected<Error>(result.error());
      for (const SharingTest& t : result->tests) samples += t.samples;
      findings.topology.sharing.push_back(*result);
      open = open || result->verdict == "inconclusive";
      if (result->verdict != "same") continue;
      same_as = findings.memory(other->path.id).physical_cache;
      open = same_as.empty();
      break;
    }
    caches.push_back(cache);
    session.keep(std::move(curve));
    if (open) {
      memory.structure["physical_cache"] =
          undecided("eviction", "walks through one push out some of another, but not as one cache would");
      continue;
    }
    if (same_as.empty() && !uncompared.empty()) {
      memory.structure["physical_cache"] =
          undecided("eviction", fmt::format("it may be one with {}, which couldn't be filled", uncompared.front()));
      continue;
    }
    memory.physical_cache = same_as.empty() ? std::string(path.id) : same_as;
    memory.structure["physical_cache"] = decided(memory.physical_cache, "eviction", samples);
    for (Memory& other : findings.topology.memories)
      if (!same_as.empty() && other.physical_cache == same_as && &other != &memory)
        agree_as_one_cache(other.attributes["size"], memory.attributes["size"]);
  }
  return {};
}

}  // namespace gputopo::experiments
