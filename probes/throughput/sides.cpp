// What the sides of a two-sided L2 deliver: lines whose home is an SM's own side, the other one, or any.
#include <algorithm>

#include <fmt/format.h>

#include "throughput/l2_lists.hpp"

namespace gputopo::throughput {
namespace {

Expected<void> measure_operation(const Setting& setting, const Homes& homes, bool writes, Result& result) {
  Plot plot{writes ? "Writing to the L2's sides" : "Reading from the L2's sides", "footprint (MiB)", "GB/s", false, {}};
  for (const auto& kind : line_kinds) {
    auto rates = stream_lists(setting, homes, kind, writes, homes.side_of_line.size() * home_line_bytes);
    if (!rates) return tl::unexpected<Error>(rates.error());
    if (!*rates) continue;
    ListRates& r = **rates;
    result.findings.push_back({"l2",
                               fmt::format("{}_{}_bandwidth", kind.second, writes ? "write" : "read"),
                               estimate_of(r.best, "B/s", "lines by home"),
                               fmt::format("16 B, 8 in flight, {} threads an SM, {:.1f} MiB of {} lines", list_threads,
                                           r.best_megabytes, kind.second),
                               {},
                               {},
                               std::move(r.by_bytes)});
    plot.series.push_back({kind.second, std::move(r.points)});
  }
  result.plots.push_back(std::move(plot));
  return {};
}

}  // namespace

Expected<void> measure_sides(const Setting& setting, Result& result) {
  const std::uint64_t l2 = setting.size_of("l2");
  // A side's half of the lines and a little more: homes come in no order.
  const auto lines = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(program::most_workload_words - 1024, (l2 + l2 / 16) / home_line_bytes));
  if (lines == 0) return fail(Error::Kind::unavailable, "how large the L2 is isn't known");
  const auto homes = find_homes(setting, lines, std::uint64_t{lines} * home_line_bytes);
  if (!homes) return tl::unexpected<Error>(homes.error());
  if (!*homes)
    return fail(Error::Kind::unavailable,
                "the SMs' latencies don't fall into two opposite patterns: the L2 has one side");
  setting.progress(0.2);
  const auto& h = **homes;
  result.notes.push_back(
      fmt::format("homes of {} lines by atomics: {} and {} SMs a side, least correlation {:.2f}, {} lines doubtful",
                  lines, std::count(h.side_of_sm.begin(), h.side_of_sm.end(), 0),
                  std::count(h.side_of_sm.begin(), h.side_of_sm.end(), 1), h.least_correlation, h.doubtful));
  if (auto ok = measure_operation(setting, h, false, result); !ok) return ok;
  setting.progress(0.6);
  return measure_operation(setting, h, true, result);
}

}  // namespace gputopo::throughput
