#include "evidence/histogram.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace gputopo::evidence {

Histogram counted(std::vector<std::uint32_t> latencies_cycles) {
  std::sort(latencies_cycles.begin(), latencies_cycles.end());
  Histogram all;
  for (const std::uint32_t cycles : latencies_cycles) {
    if (all.empty() || all.back().latency_cycles != cycles) all.push_back({cycles, 0});
    ++all.back().count;
  }
  return all;
}

std::uint64_t total(std::span<const program::LatencyCount> histogram) {
  return count_from(histogram, 0);
}

std::uint64_t count_from(std::span<const program::LatencyCount> histogram, double threshold_cycles) {
  std::uint64_t n = 0;
  for (const auto& bin : histogram)
    if (bin.latency_cycles >= threshold_cycles) n += bin.count;
  return n;
}

Histogram between(std::span<const program::LatencyCount> histogram, double low_cycles, double high_cycles) {
  Histogram part;
  std::copy_if(histogram.begin(), histogram.end(), std::back_inserter(part),
               [&](const auto& bin) { return bin.latency_cycles >= low_cycles && bin.latency_cycles < high_cycles; });
  return part;
}

std::optional<double> quantile(std::span<const program::LatencyCount> histogram, double q) {
  const auto n = static_cast<double>(total(histogram));
  double seen = 0;
  for (const auto& bin : histogram) {
    seen += static_cast<double>(bin.count);
    if (seen >= q * n && bin.count != 0) return bin.latency_cycles;
  }
  return std::nullopt;
}

std::optional<double> mean(std::span<const program::LatencyCount> histogram) {
  double n = 0;
  double sum = 0;
  for (const auto& bin : histogram) {
    n += static_cast<double>(bin.count);
    sum += static_cast<double>(bin.count) * bin.latency_cycles;
  }
  if (n == 0) return std::nullopt;
  return sum / n;
}

Histogram merged(std::span<const program::LatencyCount> a, std::span<const program::LatencyCount> b) {
  Histogram both;
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both),
             [](const auto& x, const auto& y) { return x.latency_cycles < y.latency_cycles; });
  Histogram joined;
  for (const auto& bin : both) {
    if (!joined.empty() && joined.back().latency_cycles == bin.latency_cycles) {
      joined.back().count += bin.count;
    } else {
      joined.push_back(bin);
    }
  }
  return joined;
}

std::vector<double> values(std::span<const program::LatencyCount> histogram) {
  std::vector<double> all;
  all.reserve(total(histogram));
  for (const auto& bin : histogram) all.insert(all.end(), bin.count, static_cast<double>(bin.latency_cycles));
  return all;
}

}  // namespace gputopo::evidence
