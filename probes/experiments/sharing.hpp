// Which kinds of load share one physical cache? By eviction (Größler 2022, section 4.5): fill through one path, walk
// through the other, look whether the first one's data is still there. displacement.hpp has the second opinion.
#pragma once

#include <span>
#include <string>

#include "experiments/constant_l1_5.hpp"
#include "experiments/session.hpp"
#include "experiments/sm_cache.hpp"

namespace gputopo::experiments {

/// A cache and what is known of it.
struct Sharer {
  CachePath path;
  const SmCache* cache = nullptr;
};

/// Both walk two thirds of their capacity, in memory of their own: together they don't fit into one cache, each alone
/// does. The smaller cache's data is what is looked for; of equal ones, both.
Expected<SharingTest> test_eviction(Session& session, const Sharer& a, const Sharer& b);

/// The same for constants of the L1.5 against more code than it holds, with a run without code as the control. Needs a
/// device that executes code.
Expected<SharingTest> test_code_eviction(Session& session, const ConstantL15& cache, std::uint64_t capacity_bytes);

/// "same" or "apart" where all tests say so, else "inconclusive".
std::string verdict_of(std::span<const SharingTest> tests);

}  // namespace gputopo::experiments
