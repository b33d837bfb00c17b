// How many bytes one miss brings in, from a cold walk: a posterior over powers of two.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "evidence/inference/counts.hpp"
#include "topology/evidence.hpp"

namespace gputopo::evidence {

/// Of loads in ascending order, one every `stride_bytes` from an aligned address, which missed. Under the period P the
/// load at every multiple of P misses and no other; either is counted wrongly with the contamination's shares. The
/// rival is a miss rate without any pattern: where that explains as much the answer is `inconclusive`.
Estimate period_of(std::span<const bool> missed, std::uint64_t stride_bytes, const Contamination& contamination,
                   std::string_view method);

/// The same loads by their place in stretches of a few periods: the share of stretches in which each missed.
DecidingCurve period_curve(std::span<const bool> missed, std::uint64_t stride_bytes, const Estimate& period,
                           std::string_view memory);

}  // namespace gputopo::evidence
