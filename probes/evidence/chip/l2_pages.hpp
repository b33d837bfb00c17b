// How far pages of the L2 are from SMs: what their lines' hits take on average. Slices that neighbouring lines lie in
// are many, and average out; sides of the L2, which pages live on as a whole, don't.
#pragma once

#include <optional>
#include <vector>

#include "evidence/inference/levels.hpp"
#include "evidence/looks/session.hpp"

namespace gputopo::evidence {

/// By SM, what hits of each of some pages' lines take on average, undisturbed, cycles without the clock; each line is
/// loaded right before it is looked at, so that nobody has the time to push it out. Nothing where not nearly all
/// were hits of `l2`, or where SMs can't be asked. Errors are the session's.
Expected<std::optional<std::vector<std::vector<double>>>> hits_by_page(Session& session,
                                                                       const std::vector<std::uint32_t>& sms,
                                                                       const Levels& l2, double overhead_cycles);

/// Whether two to four sides that pages live on, a level apart, would make SMs see the pages more unlike one another
/// than they do: the L2 has none then. `by_sm` as above, SMs and pages of all sides among them if there are any.
bool would_sides_show(std::vector<std::vector<double>> by_sm);

}  // namespace gputopo::evidence
