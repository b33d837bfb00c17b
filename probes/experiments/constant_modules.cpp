#include "experiments/constant_modules.hpp"

#include "experiments/size_search.hpp"

namespace gputopo::experiments {
namespace {

using change_point::Finding;
using change_point::Verdict;

// Misses beyond the size that a search with few warm laps found. Where more laps leave far fewer of them, what lay in
// the cache before hadn't been replaced yet.
Expected<bool> is_settled(Session& session, const SearchSpec& quick, std::uint32_t more_laps,
                          std::uint64_t size_bytes) {
  SearchSpec settled = quick;
  settled.warm_laps = more_laps;
  const std::uint64_t bytes = size_bytes + 4 * quick.stride_bytes;
  const auto before = count_misses(session, quick, bytes);
  if (!before) return tl::unexpected<Error>(before.error());
  const auto after = count_misses(session, settled, bytes);
  if (!after) return tl::unexpected<Error>(after.error());
  return 2 * *after > *before;
}

Expected<Finding> search(Session& session, const SearchSpec& spec) {
  auto bracket = search_by_doubling(session, spec);
  if (!bracket) return tl::unexpected<Error>(bracket.error());
  return narrow(session, spec, *bracket, spec.stride_bytes);
}

}  // namespace

Expected<Finding> measure_constant_modules(Session& session, const ConstantL15& cache) {
  const std::uint64_t bank = session.info().constant_bytes_per_module;
  SearchSpec spec{constant_l1_5_path,     cache.line_bytes, bank, bank * session.info().constant_modules,
                  cache.threshold_cycles, Scope::gpu};
  spec.front_line_bytes = cache.front_line_bytes;
  spec.bank_bytes = bank;
  // Programs that keep the GPU to themselves and hand turns from module to module take long: few rows, few laps.
  spec.coarse_rows = 12;
  spec.final_replicates = 2;
  spec.warm_laps = 4;
  auto quick = search(session, spec);
  if (!quick || quick->verdict == Verdict::lower_bound) return quick;
  if (quick->verdict == Verdict::value) {
    const auto settled = is_settled(session, spec, cache.settling_laps, static_cast<std::uint64_t>(quick->value));
    if (!settled) return tl::unexpected<Error>(settled.error());
    if (*settled) return quick;
  }
  spec.warm_laps = cache.settling_laps;
  return search(session, spec);
}

}  // namespace gputopo::experiments
