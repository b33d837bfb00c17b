#include "experiments/line_size.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "experiments/estimates.hpp"
#include "experiments/samples.hpp"

namespace gputopo::experiments {
namespace {

using program::Walk;

constexpr double thrashes_from = 0.12;  // share of misses; the fitting pattern has almost none, the other far more
constexpr std::uint64_t largest_line_bytes = 4096;

}  // namespace

Estimate line_size_of(std::span<const ShiftedMisses> misses, std::uint64_t sector_bytes) {
  constexpr std::string_view method = "shifted_stride";
  std::uint64_t line = sector_bytes;
  std::uint64_t samples = 0;
  for (const ShiftedMisses& m : misses) {
    samples += m.samples;
    if (m.miss_share < thrashes_from) {
      Estimate e = measured(static_cast<double>(line), "B", method, samples);
      e.interval = Interval{*e.value, *e.value};
      e.confidence = std::clamp(1 - m.miss_share, 0.5, 1.0);
      return e;
    }
    line = m.stride_bytes;
  }
  return inconclusive("B", method, "no stride up to the limit leaves half of the sets to the shifted region");
}

std::vector<std::uint64_t> line_size_strides(std::uint64_t sector_bytes, std::uint64_t capacity_bytes) {
  std::vector<std::uint64_t> strides;
  for (std::uint64_t x = 2 * sector_bytes; x <= std::min(2 * largest_line_bytes, capacity_bytes / 4); x *= 2)
    strides.push_back(x);
  return strides;
}

std::vector<program::Phase> shifted_pattern(const CachePath& path, std::uint64_t capacity_bytes,
                                            std::uint64_t stride_bytes, std::uint32_t laps, std::uint32_t lanes) {
  // Whole strides of the largest tried, so that the second region starts at a multiple of every stride.
  const std::uint64_t unit = std::max<std::uint64_t>(stride_bytes, 256);
  const std::uint64_t region = std::max(unit, capacity_bytes * 6 / 10 / unit * unit);
  Walk a = make_walk(path, region, stride_bytes, 1);
  a.lanes = lanes;
  Walk b = a;
  b.first_byte = region + stride_bytes / 2;
  // One position fewer than fit would lose a line; the shifted region ends half a stride later instead.
  b.footprint_bytes = region;
  std::vector<program::Phase> phases;
  for (std::uint32_t lap = 0; lap < laps; ++lap) {
    phases.emplace_back(a);
    phases.emplace_back(b);
  }
  return phases;
}

Expected<Estimate> measure_line_size(Session& session, const CachePath& path, std::uint64_t capacity_bytes,
                                     std::uint64_t sector_bytes, double threshold_cycles) {
  const auto strides = line_size_strides(sector_bytes, capacity_bytes);
  program::Batch batch;
  for (const std::uint64_t stride : strides) {
    program::Program p =
        make_program(fmt::format("{} line size, stride {}", path.id, stride), session.info(), path.slot);
    p.phases = shifted_pattern(path, capacity_bytes, stride, 4, 1);
    p.phases.emplace_back(recorded(std::get<Walk>(p.phases.front()), program::Record::histogram, 1));
    batch.push_back(std::move(p));
  }
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  std::vector<ShiftedMisses> misses;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    const auto& histogram = (*traces)[i].phases.back().histogram;
    const std::uint64_t loads = total(histogram);
    misses.push_back(
        {strides[i], static_cast<double>(count_from(histogram, threshold_cycles)) / static_cast<double>(loads), loads});
  }
  return line_size_of(misses, sector_bytes);
}

}  // namespace gputopo::experiments
