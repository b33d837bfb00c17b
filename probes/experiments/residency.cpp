#include "experiments/residency.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "experiments/estimates.hpp"
#include "experiments/samples.hpp"

namespace gputopo::experiments {
namespace {

using program::Record;

constexpr std::array<double, 4> overflows{1.25, 1.5, 1.75, 2.0};  // footprints, times the capacity
constexpr std::uint32_t warm_laps = 1;  // fills every way; replacement then only exchanges lines

}  // namespace

Expected<std::optional<Estimate>> measure_residency(Session& session, const CachePath& path,
                                                    std::uint64_t capacity_bytes, std::uint64_t sector_bytes,
                                                    double threshold_cycles, std::uint64_t shared_bytes) {
  program::Batch batch;
  for (const double factor : overflows) {
    constexpr std::uint64_t unit = 4096;
    const auto bytes = static_cast<std::uint64_t>(static_cast<double>(capacity_bytes) * factor) / unit * unit + unit;
    program::Program p = make_program(fmt::format("{} residency {} B", path.id, bytes), session.info(), path.slot);
    if (shared_bytes != 0) p.buffers.push_back({program::Space::shared, shared_bytes, 0});
    program::Walk probe = recorded(make_walk(path, bytes, sector_bytes, 1), Record::histogram, 1);
    probe.path = program::Path::global_no_allocate;
    p.phases = {make_walk(path, bytes, sector_bytes, warm_laps), probe};
    batch.push_back(std::move(p));
  }
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  std::vector<double> resident;
  std::uint64_t samples = 0;
  for (const auto& trace : *traces) {
    const auto& histogram = trace.phases.back().histogram;
    const std::uint64_t loads = total(histogram);
    samples += loads;
    resident.push_back(static_cast<double>((loads - count_from(histogram, threshold_cycles)) * sector_bytes));
  }
  const auto [low, high] = std::minmax_element(resident.begin(), resident.end());
  // An outlier or two hide hits; a count that follows the footprint is no capacity.
  if (*low <= 0 || *high - *low > 0.01 * *high) return std::optional<Estimate>();
  // Disturbances only ever hide resident sectors, so the highest count is the best one.
  Estimate e = measured(*high, "B", "residency", samples);
  e.interval = Interval{*low, *high};
  e.confidence = *low == *high ? 0.999 : 0.95;
  return std::optional(e);
}

}  // namespace gputopo::experiments
