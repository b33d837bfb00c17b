// How far stretches of the L2 are from SMs: what hits of their lines take on average. Slices that neighbouring lines
// lie in are many, and average out; sides of the L2, which whole stretches live on, don't.
#pragma once

#include <optional>
#include <vector>

#include "evidence/inference/levels.hpp"
#include "evidence/looks/session.hpp"

namespace gputopo::evidence {

/// By SM, what hits of the lines of some pages take, undisturbed, cycles without the clock, after a lap that brought
/// them in. Nothing where not nearly all were hits of `l2`, or where as many loads can't be run or recorded.
/// Errors are the session's.
Expected<std::optional<std::vector<std::vector<double>>>> hits_of_pages(Session& session,
                                                                        const std::vector<std::uint32_t>& sms,
                                                                        const Levels& l2, double overhead_cycles);

/// The means of stretches of these lines: of pages of 32, of half as many, and so on down to single lines.
std::vector<std::vector<std::vector<double>>> stretches_of(const std::vector<std::vector<double>>& by_sm);

}  // namespace gputopo::evidence
