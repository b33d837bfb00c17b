// What a load of a line that a cache lost takes longer than a hit.
#pragma once

#include <optional>
#include <vector>

#include "evidence/inference/levels.hpp"
#include "evidence/looks/latency.hpp"
#include "topology/evidence.hpp"

namespace gputopo::evidence {

/// Looks at lines that were lost, as one SM saw them; what of them hit isn't counted.
using LostBySm = std::vector<LooksByLine>;

struct LostLines {
  Estimate penalty;
  std::vector<double> by_line;  ///< cycles more than a hit; where nothing is decided those of all lines
  DecidingCurve curve(std::string_view memory) const;
};

/// Where the lines lie that were looked at: all over the level behind, or, as of one bank of constants, in one place of
/// it.
enum class Places { many, one };

/// The mean over lines, each by the lower quartile of its looks less the quartile of as many hits, so that neither
/// strangers nor others' traffic nor the clock nor how many looks there were have a part in the difference. With
/// `far_less_near_cycles` the lines lie near or far behind the cache, that far apart, and near ones alone count:
/// inconclusive where both kinds don't show. The 95 % interval is that of the mean over SMs, which see lines from other
/// places, or over the lines where one SM looked; of lines in one place with that it may be as far from others as the
/// next level's own lines are by `next_hits`, what hits of these take from there. Fewer than eight loads tell
/// nothing, nor do lines of two levels: two kinds that are further apart than those hits are.
LostLines penalty_of_lost(const LostBySm& looks, const Levels& levels, std::optional<double> far_less_near_cycles,
                          std::vector<double> next_hits = {}, Places places = Places::many);

}  // namespace gputopo::evidence
