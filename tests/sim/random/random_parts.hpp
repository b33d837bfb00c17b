// The parts of a random model, in the order in which they are drawn.
#pragma once

#include <string>

#include "random_cache.hpp"

namespace gputopo::test {

/// A model that grows, and what its later parts must know of its earlier ones.
struct Drawn {
  explicit Drawn(std::uint64_t seed) : draw(seed), later(~seed) {}

  /// Levels behind a first one of `own_cycles` (0: none): at least `ratio` of it, else what the L2 takes from here.
  nlohmann::json beyond(double own_cycles, double extra_cycles);
  /// A path through one cache of the SM.
  nlohmann::json through(const std::string& cache, double own_cycles, double extra_cycles);
  /// The latency of a first level: some ratio, from the least one on, below the L2.
  double first_level_cycles(double least);
  /// The latency of a level whose next one takes that long.
  double cycles_before(double next_cycles, double most_ratio, double least);

  /// Of a level's latency to that of the one before it; near the least one as often as not.
  double ratio(double most);

  Draw draw;
  Draw later;                 ///< of what came to the domain later: the rest of a seed's model stays what it was
  double least_ratio = 1.05;  ///< of a level's latency to that of the level before it
  std::uint32_t sm_count = 0;
  bool has_l2 = false;
  double l2_cycles = 0, l2_far_cycles = 0, l3_cycles = 0, memory_cycles = 0;
  std::uint64_t l2_bytes = 0;  ///< that one SM can fill with near lines
  nlohmann::json model = nlohmann::json::object();
  nlohmann::json caches = nlohmann::json::object();
  nlohmann::json tlbs = nlohmann::json::object();
  nlohmann::json l2_tlbs = nlohmann::json::array();
  nlohmann::json paths = nlohmann::json::object();
};

void draw_gpu(Drawn& d, std::uint64_t seed);
void draw_l2(Drawn& d);
void draw_global(Drawn& d);
void draw_constants(Drawn& d);
void draw_disturbances(Drawn& d, std::uint64_t seed);

}  // namespace gputopo::test
