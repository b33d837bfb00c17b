// Capacity by counting what a cache holds of far more than it can hold, whatever its replacement and its index: each
// line of a footprint is looked for once after the footprint was walked anew, in the same lap, so that neither other
// looks nor what the kernel reads for itself between laps has a part in it.
#pragma once

#include <cstdint>
#include <optional>

#include "evidence/inference/counts.hpp"
#include "evidence/looks/findings.hpp"
#include "evidence/looks/session.hpp"

namespace gputopo::evidence {

struct Held {
  double bytes = 0;   ///< the mean of all counts, or the exact one
  Interval interval;  ///< of four standard errors, up to any part of a line; one value where each line was there always
                      ///< or never; from 0: a bound
  std::optional<Interval> likely = {};  ///< of three, from which a size is picked; nothing: `interval`
  double line_bytes = 0;                ///< what was counted in; 0: in parts of all
  double walked_bytes = 0;              ///< of how much in all
  bool steady = false;                  ///< twice the footprint held no more: every set was full
  bool exact = false;                   ///< and every line was there always or never, but for strangers
  bool is_sample = false;               ///< of lines of this cache alone: the interval is all that isn't known
  double least_ways = 1;                ///< of its sets, as far as is known
  double fewest_bytes = 1e300;          ///< at most so much was held of the footprint that the least was held of
  std::uint64_t samples = 0;            ///< lines looked for
};

/// Levels of memory are so much larger than what is in front of them at least.
inline constexpr double a_level_more = 1.25;
/// Of hits that others make slower (docs/domain.md).
inline constexpr double a_stranger = 0.05;
/// Looks at each line: a stranger in twenty outvotes the others once in 900.
inline constexpr std::uint32_t held_fewest_looks = 5;
/// Looks in all: a share of one half is known to 1.5 / sqrt(n), to 2 %.
inline constexpr std::uint64_t enough_looks = 6000;

/// How lines are looked for: neighbours together a few times, each by itself where there's time, or as often as it
/// takes to tell sizes apart; but for the first in an order that nothing is in step with.
enum class Care { few_looks, single_looks, many_looks };

/// `about_bytes` is a first idea of the capacity, within a fifth. Not steady where the count still grows when there is
/// no more to walk or no more time. `isolation` as the footprints of the cache need it.
Expected<Held> count_held(Session& session, const CacheFacts& cache, std::uint64_t about_bytes, Scope isolation,
                          Care care = Care::many_looks);

}  // namespace gputopo::evidence
