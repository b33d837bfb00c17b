#include "experiments/fetch_granularity.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "experiments/estimates.hpp"

namespace gputopo::experiments {
namespace {

constexpr std::uint64_t walk_bytes = 8192;
constexpr double explained_share = 0.95;

}  // namespace

Estimate fetch_granularity_of(std::span<const std::uint32_t> latencies, std::uint64_t stride_bytes,
                              double threshold_cycles) {
  constexpr std::string_view method = "cold_misses";
  const std::size_t n = latencies.size();
  const auto misses_of = [&](std::size_t period) {
    std::size_t on = 0, off = 0;
    for (std::size_t i = 0; i < n; ++i)
      if (latencies[i] >= threshold_cycles) ++(i % period == 0 ? on : off);
    return std::pair{on, off};
  };
  for (std::size_t period = 1; period * 4 <= n; period *= 2) {
    const auto [on, off] = misses_of(period);
    const std::size_t starts = (n + period - 1) / period;
    const auto share = [](std::size_t part, std::size_t whole) {
      return static_cast<double>(part) / static_cast<double>(std::max<std::size_t>(1, whole));
    };
    if (share(on, starts) < explained_share) continue;
    // Isolated outliers look like misses between the starts; more than a few mean another pattern.
    if (period > 1 && share(off, n - starts) > 1 - explained_share) break;
    Estimate e = measured(static_cast<double>(period * stride_bytes), "B", method, n);
    const double wrong = static_cast<double>(starts - on + off) / static_cast<double>(n);
    e.interval = Interval{*e.value, *e.value};
    e.confidence = std::clamp(1 - 2 * wrong, 0.5, 1.0);
    return e;
  }
  return inconclusive("B", method, "cold misses follow no regular spacing");
}

Expected<Estimate> measure_fetch_granularity(Session& session, const CachePath& path, double threshold_cycles) {
  program::Program p = make_program(fmt::format("{} cold", path.id), session.info(), path.slot);
  program::Walk cold = recorded(make_walk(path, walk_bytes, 4, 1), program::Record::latencies, 1);
  if (path.slot == slot_constant) {
    // A constant bank is too small for untouched regions: its far end, walked several times, pushes the near end out.
    const std::uint64_t half = session.info().constant_bytes_per_module / 2;
    program::Walk evict = make_walk(path, half, 32, 4);
    evict.first_byte = half;
    p.phases.emplace_back(evict);
    cold.footprint_bytes = std::min<std::uint64_t>(walk_bytes, half / 4);
  } else {
    cold.first_byte = session.fresh_region(path.slot, walk_bytes);
  }
  p.phases.emplace_back(cold);
  auto traces = session.run({p});
  if (!traces) return tl::unexpected<Error>(traces.error());
  return fetch_granularity_of(traces->front().phases.back().latencies, 4, threshold_cycles);
}

}  // namespace gputopo::experiments
