// Latency curves of caches whose capacity is known: any policy and hash of the simulator, with the noise of a real GPU.
#pragma once

#include <cstdint>
#include <string>

#include "change_point/trace.hpp"
#include "device/sim/model.hpp"

namespace gputopo::change_point::testing {

struct SimulatedCache {
  sim::Organisation organisation;
  std::uint64_t lines = 0;
  std::uint64_t line_bytes = 0;
  std::uint64_t step_lines = 1;  ///< of the sweep
  std::uint64_t first_lines = 0;
  std::uint64_t rows = 0;
  std::uint64_t laps = 1;  ///< timed laps a row, after `warm_laps`
  std::uint64_t warm_laps = 2;
  double hit_cycles = 0;
  double miss_cycles = 0;
  double jitter_cycles = 0;  ///< standard deviation
  double outlier_probability = 0;
  double outlier_cycles = 0;
  std::uint64_t fixed_miss_from_lines = 0;  ///< one extra miss a lap for footprints from here on; 0: none
  std::uint64_t seed = 0;

  std::string describe() const;
};

/// Any cache and any sweep around its capacity; the capacity lies within the sweep's middle 80 %.
SimulatedCache random_cache(std::uint64_t seed);

/// One row a footprint: the cache emptied, warmed and walked in order, every line once a lap.
Trace simulate(const SimulatedCache& cache);

/// The largest control value of the sweep that fits, bytes.
double truth_bytes(const SimulatedCache& cache);

}  // namespace gputopo::change_point::testing
