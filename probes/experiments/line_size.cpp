#include "experiments/line_size.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "experiments/estimates.hpp"
#include "experiments/samples.hpp"

namespace gputopo::experiments {
namespace {

using program::Walk;

constexpr std::uint64_t largest_line_bytes = 4096;
constexpr std::uint32_t warm_laps = 4;
// Where the second region may begin, strides behind the first. Odd ones tell halves of lines from sets in conflict.
constexpr std::array<std::uint64_t, 8> gaps_in_strides{0, 1, 2, 3, 5, 7, 11, 13};
constexpr std::uint64_t enough_loads = 256;  // with these, 31 % of misses are never taken for less than 12 %

struct Place {
  std::uint64_t stride_bytes = 0;
  std::uint64_t gap_strides = 0;
};

struct Pattern {
  const CachePath& path;
  std::uint64_t capacity_bytes = 0;
  double threshold_cycles = 0;
};

// One program a place that the path's buffer has room for; `carefully`, as many laps as it takes for enough loads.
Expected<std::vector<ShiftedMisses>> run_places(Session& session, const Pattern& pattern,
                                                const std::vector<Place>& places, bool carefully) {
  const auto& [path, capacity_bytes, threshold_cycles] = pattern;
  program::Batch batch;
  std::vector<std::uint64_t> strides;
  for (const auto& [stride, gap] : places) {
    program::Program p =
        make_program(fmt::format("{} line size, stride {}, gap {}", path.id, stride, gap), session.info(), path.slot);
    if (2 * (capacity_bytes * 6 / 10 + stride) + gap * stride > p.buffers[path.slot].size_bytes) continue;
    strides.push_back(stride);
    p.phases = shifted_pattern(path, capacity_bytes, stride, gap * stride, warm_laps, 1);
    const Walk first = std::get<Walk>(p.phases[0]);
    const program::Phase second = p.phases[1];
    p.phases.emplace_back(recorded(first, program::Record::histogram, 1));
    const std::uint64_t lap_loads = program::lap_loads(first);
    for (std::uint64_t loads = lap_loads; carefully && loads < enough_loads; loads += lap_loads) {
      p.phases.push_back(second);
      p.phases.emplace_back(recorded(first, program::Record::histogram, 1));
    }
    batch.push_back(std::move(p));
  }
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  std::vector<ShiftedMisses> misses;
  for (std::size_t i = 0; i < traces->size(); ++i) {
    Histogram all;
    for (const auto& phase : (*traces)[i].phases) all = merged(all, phase.histogram);
    const std::uint64_t loads = total(all);
    misses.push_back(
        {strides[i], static_cast<double>(count_from(all, threshold_cycles)) / static_cast<double>(loads), loads});
  }
  return misses;
}

}  // namespace

std::vector<ShiftedMisses> fewest_misses(std::span<const ShiftedMisses> misses) {
  std::vector<ShiftedMisses> fewest;
  for (const ShiftedMisses& m : misses) {
    if (fewest.empty() || fewest.back().stride_bytes != m.stride_bytes) {
      fewest.push_back(m);
      continue;
    }
    fewest.back().miss_share = std::min(fewest.back().miss_share, m.miss_share);
    fewest.back().samples += m.samples;
  }
  return fewest;
}

Estimate line_size_of(std::span<const ShiftedMisses> misses, std::uint64_t sector_bytes) {
  constexpr std::string_view method = "shifted_stride";
  std::uint64_t line = sector_bytes;
  std::uint64_t samples = 0;
  for (const ShiftedMisses& m : misses) {
    samples += m.samples;
    if (m.miss_share < least_thrashing) {
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
  for (std::uint64_t x = 2 * sector_bytes; x <= std::min(2 * largest_line_bytes, capacity_bytes / 2); x *= 2)
    strides.push_back(x);
  return strides;
}

std::vector<program::Phase> shifted_pattern(const CachePath& path, std::uint64_t capacity_bytes,
                                            std::uint64_t stride_bytes, std::uint64_t gap_bytes, std::uint32_t laps,
                                            std::uint32_t lanes) {
  // Whole strides, rounded up: rounded down, both regions of a cache of few lines would fit together.
  const std::uint64_t region = (capacity_bytes * 6 / 10 + stride_bytes - 1) / stride_bytes * stride_bytes;
  Walk a = make_walk(path, region, stride_bytes, 1);
  a.lanes = lanes;
  Walk b = a;
  // One position fewer than fit would lose a line; the shifted region ends half a stride later instead.
  b.first_byte = region + gap_bytes + stride_bytes / 2;
  std::vector<program::Phase> phases;
  for (std::uint32_t lap = 0; lap < laps; ++lap) {
    phases.emplace_back(a);
    phases.emplace_back(b);
  }
  return phases;
}

std::optional<std::uint64_t> doubtful_stride(std::span<const ShiftedMisses> misses) {
  for (std::size_t i = 0; i < misses.size();) {
    std::size_t end = i;
    bool thrashes = false, fits = false;
    std::uint64_t samples = misses[i].samples;
    for (; end < misses.size() && misses[end].stride_bytes == misses[i].stride_bytes; ++end) {
      (misses[end].miss_share < least_thrashing ? fits : thrashes) = true;
      samples = std::min(samples, misses[end].samples);
    }
    if (fits) return thrashes && samples < enough_loads ? std::optional(misses[i].stride_bytes) : std::nullopt;
    i = end;
  }
  return std::nullopt;
}

Expected<Estimate> measure_line_size(Session& session, const CachePath& path, std::uint64_t capacity_bytes,
                                     std::uint64_t sector_bytes, double threshold_cycles) {
  std::vector<Place> places;
  for (const std::uint64_t stride : line_size_strides(sector_bytes, capacity_bytes))
    for (const std::uint64_t gap : gaps_in_strides) places.push_back({stride, gap});
  const Pattern pattern{path, capacity_bytes, threshold_cycles};
  auto misses = run_places(session, pattern, places, false);
  if (!misses) return tl::unexpected<Error>(misses.error());
  for (auto stride = doubtful_stride(*misses); stride; stride = doubtful_stride(*misses)) {
    places.clear();
    for (const std::uint64_t gap : gaps_in_strides) places.push_back({*stride, gap});
    auto again = run_places(session, pattern, places, true);
    if (!again) return tl::unexpected<Error>(again.error());
    std::erase_if(*misses, [&](const ShiftedMisses& m) { return m.stride_bytes == *stride; });
    const auto behind =
        std::find_if(misses->begin(), misses->end(), [&](const ShiftedMisses& m) { return m.stride_bytes > *stride; });
    misses->insert(behind, again->begin(), again->end());
  }
  return line_size_of(fewest_misses(*misses), sector_bytes);
}

}  // namespace gputopo::experiments
