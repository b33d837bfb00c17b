// Arithmetic on recorded latencies.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "change_point/robust.hpp"
#include "program/program.hpp"

namespace gputopo::evidence {

using Histogram = std::vector<program::LatencyCount>;

/// Latencies of single loads as a histogram.
Histogram counted(std::vector<std::uint32_t> latencies_cycles);
/// Loads in a histogram.
std::uint64_t total(std::span<const program::LatencyCount> histogram);
/// Loads that took `threshold_cycles` or longer.
std::uint64_t count_from(std::span<const program::LatencyCount> histogram, double threshold_cycles);
/// The same as a share of all; 0 of none.
double share_from(std::span<const program::LatencyCount> histogram, double threshold_cycles);
/// The part of a histogram within [low, high) cycles.
Histogram between(std::span<const program::LatencyCount> histogram, double low_cycles, double high_cycles);
/// The value below which a share `q` of the loads lies; nothing for an empty histogram.
std::optional<double> quantile(std::span<const program::LatencyCount> histogram, double q);
/// The mean, cycles; nothing for an empty histogram.
std::optional<double> mean(std::span<const program::LatencyCount> histogram);
/// Both together.
Histogram merged(std::span<const program::LatencyCount> a, std::span<const program::LatencyCount> b);
/// One load more.
void add(Histogram& histogram, std::uint32_t latency_cycles);
/// Every load's latency, ascending.
std::vector<double> values(std::span<const program::LatencyCount> histogram);

using change_point::median;

}  // namespace gputopo::evidence
