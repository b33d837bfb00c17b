#include "simulated_cache.hpp"

#include <algorithm>
#include <array>
#include <sstream>

#include "device/sim/cache_array.hpp"
#include "device/sim/noise.hpp"
#include "device/sim/random.hpp"

namespace gputopo::change_point::testing {

std::string SimulatedCache::describe() const {
  constexpr std::array<const char*, 5> policies = {"lru", "fifo", "random", "tree_plru", "not_most_recent"};
  constexpr std::array<const char*, 3> hashes = {"modulo", "xor_fold", "hash"};
  std::ostringstream out;
  out << "seed " << seed << ": " << lines << " lines of " << line_bytes << " B in " << organisation.sets << " sets, "
      << policies[static_cast<std::size_t>(organisation.replacement)] << ", "
      << hashes[static_cast<std::size_t>(organisation.index)] << ", " << organisation.consecutive_lines
      << " consecutive; sweep " << rows << " rows of " << step_lines << " lines from " << first_lines << ", " << laps
      << " laps; " << hit_cycles << " / " << miss_cycles << " +- " << jitter_cycles << " cycles, outliers "
      << outlier_probability << " of " << outlier_cycles << ", fixed miss from " << fixed_miss_from_lines;
  return out.str();
}

SimulatedCache random_cache(std::uint64_t seed) {
  sim::Random random(sim::mix(seed));
  const auto any = [&random](auto... choices) {
    const std::array values{choices...};
    return values[random.below(static_cast<std::uint32_t>(values.size()))];
  };
  SimulatedCache cache;
  cache.seed = seed;
  cache.organisation.sets = any(1U, 2U, 4U, 6U, 8U, 16U, 24U, 32U, 64U);
  cache.organisation.index = any(sim::IndexKind::modulo, sim::IndexKind::xor_fold, sim::IndexKind::hash);
  cache.organisation.replacement = any(sim::Replacement::lru, sim::Replacement::fifo, sim::Replacement::random,
                                       sim::Replacement::tree_plru, sim::Replacement::not_most_recent);
  cache.organisation.consecutive_lines = any(1U, 1U, 2U, 4U);
  const std::uint64_t ways = cache.organisation.sets == 1 ? 32 + random.below(800) : 2 + random.below(30);
  cache.lines = std::max<std::uint64_t>(32, cache.organisation.sets * ways);
  cache.line_bytes = any(32U, 64U, 128U, 256U);
  cache.step_lines = any(1U, 1U, 1U, 2U, 4U);
  cache.rows = 30 + random.below(120);
  const std::uint64_t span = cache.rows / 10 + random.below(static_cast<std::uint32_t>(cache.rows * 8 / 10));
  const std::uint64_t before = std::min(span * cache.step_lines, cache.lines - 8);
  cache.first_lines = cache.lines - before - random.below(static_cast<std::uint32_t>(cache.step_lines));
  cache.laps = any(1U, 1U, 2U, 3U);
  cache.hit_cycles = 20 + random.below(200);
  cache.miss_cycles = cache.hit_cycles + 40 + random.below(400);
  const double gap = cache.miss_cycles - cache.hit_cycles;
  cache.jitter_cycles = std::min(any(0.0, 0.5, 0.02 * gap, 0.06 * gap), cache.hit_cycles / 8);
  cache.outlier_probability = any(0.0, 1e-4, 1e-3);
  cache.outlier_cycles = 50 + random.below(850);
  // A fixed extra miss that begins within a few rows of the capacity looks like the capacity's first misses.
  const std::uint64_t clear_of_capacity = 8 * cache.step_lines;
  if (before > clear_of_capacity && random.below(5) == 0) {
    cache.fixed_miss_from_lines =
        cache.first_lines + random.below(static_cast<std::uint32_t>(before - clear_of_capacity));
  }
  return cache;
}

Trace simulate(const SimulatedCache& cache) {
  sim::NoiseModel model;
  model.jitter = cache.jitter_cycles > 0 ? sim::JitterKind::gaussian : sim::JitterKind::none;
  model.jitter_cycles = cache.jitter_cycles;
  model.outlier_probability = cache.outlier_probability;
  model.outlier_cycles = {cache.outlier_cycles, cache.outlier_cycles};
  sim::Noise noise(model, cache.seed + 1);
  sim::Random random(sim::mix(cache.seed + 2));
  sim::CacheArray array(cache.organisation, cache.lines);
  Trace trace;
  for (std::uint64_t row = 0; row < cache.rows; ++row) {
    const std::uint64_t footprint = cache.first_lines + row * cache.step_lines;
    array.clear();
    Row& out = trace.rows.emplace_back();
    out.control = static_cast<double>(footprint * cache.line_bytes);
    out.values.reserve(footprint * cache.laps);
    for (std::uint64_t lap = 0; lap < cache.warm_laps + cache.laps; ++lap) {
      for (std::uint64_t line = 0; line < footprint; ++line) {
        const bool hit = array.access(line, 0, 1, random);
        if (lap >= cache.warm_laps) {
          const bool taken = cache.fixed_miss_from_lines > 0 && footprint >= cache.fixed_miss_from_lines && line == 7;
          out.values.push_back(noise.observe(hit && !taken ? cache.hit_cycles : cache.miss_cycles));
        }
      }
    }
  }
  return trace;
}

double truth_bytes(const SimulatedCache& cache) {
  const std::uint64_t steps = (cache.lines - cache.first_lines) / cache.step_lines;
  return static_cast<double>((cache.first_lines + steps * cache.step_lines) * cache.line_bytes);
}

}  // namespace gputopo::change_point::testing
