// How much a cache holds of far more than fits, from looks at some of it: evenly spread places, each of neighbouring
// lines, of which those are near that the cache has.
#pragma once

#include <cstdint>
#include <vector>

#include "evidence/held/held.hpp"
#include "evidence/inference/histogram.hpp"
#include "evidence/inference/levels.hpp"

namespace gputopo::evidence {

/// One count of near lines.
struct NearCount {
  double bytes = 0;     ///< walked
  double held = 0;      ///< bytes of these
  double scatter = 0;   ///< bytes, by places and looks: two counts have each its own
  double mistaken = 0;  ///< bytes, by loads that look like others: the same for all counts
  std::uint64_t samples = 0;
};

/// `looks` at places in their order, each of so many stretches that lie as far apart. What is known to half a distance
/// of two places where a cache goes by age, neighbours' differences tell where it doesn't.
NearCount near_of(const std::vector<Histogram>& looks, const Levels& levels, double walked_bytes,
                  std::uint64_t stretches);

/// What one count says, which is never steady.
Held held_by(const NearCount& count);

/// What two counts say together, each by its certainty; steady where they agree.
Held held_by(const NearCount& a, const NearCount& b);

}  // namespace gputopo::evidence
