// Line size: how many bytes one tag covers, by the fate of pairs.
//
// What one tag covers comes and goes together. Of two loads a distance apart, one is brought in earlier than the other
// and asked for once more in between, while other lines push: if both lie in one line, either both are there at the end
// or neither is; if not, one outlives the other in many of the pairs, whatever is replaced first and whatever the
// index.
#pragma once

#include <span>

#include "evidence/lines/line_pairs.hpp"
#include "evidence/looks/findings.hpp"
#include "evidence/looks/session.hpp"

namespace gputopo::evidence {

/// The line: pairs less than it apart part by mistake alone (hits or misses that count as the other), and those further
/// apart, at two distances more at least, half as often as the `furthest` do by more than mistakes, or more, which are
/// further apart than any line is long: lines next to one another may go together, and then the share rises with the
/// distance. `pairs` by powers of two, ascending, of which the first is the shortest line there can be.
Estimate line_of(std::span<const PairFates> pairs, const PairFates& furthest, const Contamination& mistakes);

/// What halves of a line are asked by whether they stay together: pairs of them that were pushed as the others were, or
/// pairs some of which were surely lost by that, which takes longer.
enum class ConfirmedBy { any_pairs, lost_pairs };

/// For a cache of about `capacity_bytes` (within a tenth), or of up to eight times as much: where less is lost than
/// would be, twice as much is tried.
Expected<Estimate> measure_line(Session& session, const CacheFacts& cache, std::uint64_t capacity_bytes,
                                Scope isolation, ConfirmedBy confirmed_by = ConfirmedBy::any_pairs);

inline constexpr std::string_view line_method = "pair_fates";

}  // namespace gputopo::evidence
