#include "experiments/settling.hpp"

#include <algorithm>

#include "experiments/samples.hpp"

namespace gputopo::experiments {
namespace {

constexpr std::uint32_t patience = 16;  // times the laps
constexpr std::ptrdiff_t stray_misses = 2;

}  // namespace

Expected<change_point::Finding> settled(Session& session, const SearchSpec& spec, const change_point::Finding& found) {
  const std::uint64_t step = spec.stride_bytes;
  const std::uint64_t behind = static_cast<std::uint64_t>(found.value) + step;
  if (found.verdict != change_point::Verdict::value || session.options().method != Method::standard ||
      behind > spec.limit_bytes)
    return found;
  SearchSpec patient = spec;
  patient.warm_laps *= patience;
  auto row = sweep(session, patient, behind, behind, step);
  if (!row) return tl::unexpected<Error>(row.error());
  const auto& loads = row->rows.front().values;
  const bool fits = std::count(loads.begin(), loads.end(), classified_miss_cycles) <= stray_misses;
  if (!fits) return found;
  return narrow(session, patient, {behind, std::min(spec.limit_bytes, behind * 9 / 8 + 16 * step)}, step);
}

}  // namespace gputopo::experiments
