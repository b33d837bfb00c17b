// Jitter and outliers on top of a load's latency.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "device/sim/model.hpp"
#include "device/sim/random.hpp"

namespace gputopo::sim {

class Noise {
 public:
  Noise(const NoiseModel& model, std::uint64_t seed)
      : random_(seed), model_(model), uniform_span_(2 * static_cast<std::uint32_t>(model.jitter_cycles) + 1) {}

  /// Whole cycles, at least 1, of a load that takes `latency_cycles` on average.
  std::uint32_t observe(double latency_cycles) {
    double cycles = latency_cycles;
    if (model_.jitter == JitterKind::gaussian) cycles += model_.jitter_cycles * random_.normal();
    if (model_.jitter == JitterKind::uniform) cycles += random_.below(uniform_span_) - model_.jitter_cycles;
    if (model_.outlier_probability > 0 && random_.unit() < model_.outlier_probability)
      cycles += random_.within(model_.outlier_cycles.low, model_.outlier_cycles.high);
    return static_cast<std::uint32_t>(std::max(1.0, std::floor(cycles + rounding(latency_cycles))));
  }

 private:
  // As many loads take a cycle more as the mean has of it. Jitter that knows fractions spreads over whole cycles
  // anyway.
  double rounding(double latency_cycles) {
    const bool is_spread = model_.jitter == JitterKind::gaussian || latency_cycles == std::floor(latency_cycles);
    return is_spread ? 0.5 : random_.unit();
  }

  Random random_;
  NoiseModel model_;
  std::uint32_t uniform_span_;
};

}  // namespace gputopo::sim
