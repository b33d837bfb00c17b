#include "evidence/inference/histogram.hpp"

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

double share_from(std::span<const program::LatencyCount> histogram, double threshold_cycles) {
  return static_cast<double>(count_from(histogram, threshold_cycles)) /
         static_cast<double>(std::max<std::uint64_t>(1, total(histogram)));
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
  Histogram joined;
  joined.reserve(a.size() + b.size());
  while (!a.empty() || !b.empty()) {
    auto& next = b.empty() || (!a.empty() && a.front().latency_cycles <= b.front().latency_cycles) ? a : b;
    if (!joined.empty() && joined.back().latency_cycles == next.front().latency_cycles)
      joined.back().count += next.front().count;
    else
      joined.push_back(next.front());
    next = next.subspan(1);
  }
  return joined;
}

void add(Histogram& histogram, std::uint32_t latency_cycles) {
  const auto at = std::lower_bound(histogram.begin(), histogram.end(), latency_cycles,
                                   [](const auto& bin, std::uint32_t cycles) { return bin.latency_cycles < cycles; });
  if (at != histogram.end() && at->latency_cycles == latency_cycles)
    ++at->count;
  else
    histogram.insert(at, {latency_cycles, 1});
}

std::vector<double> values(std::span<const program::LatencyCount> histogram) {
  std::vector<double> all;
  all.reserve(total(histogram));
  for (const auto& bin : histogram) all.insert(all.end(), bin.count, static_cast<double>(bin.latency_cycles));
  return all;
}

}  // namespace gputopo::evidence
