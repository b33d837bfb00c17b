#include "change_point/robust.hpp"

#include <algorithm>

namespace gputopo::change_point {

double median(std::vector<double> values) {
  if (values.empty()) {
    return 0;
  }
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), half, values.end());
  if (values.size() % 2 == 1) {
    return *half;
  }
  return 0.5 * (*half + *std::max_element(values.begin(), half));
}

double quantile(std::span<const Bin> bins, double share) {
  double total = 0;
  for (const Bin& bin : bins) {
    total += static_cast<double>(bin.count);
  }
  double below = 0;
  for (const Bin& bin : bins) {
    below += static_cast<double>(bin.count);
    if (below >= share * total) {
      return bin.value;
    }
  }
  return bins.empty() ? 0 : bins.back().value;
}

std::vector<Observation> clipped_sums(const Trace& trace) {
  const double clip = quantile(latency_histogram(trace, 4096), 0.995);
  std::vector<Observation> rows;
  rows.reserve(trace.rows.size());
  for (const Row& row : trace.rows) {
    Observation observation{row.control, static_cast<double>(row.values.size()), 0};
    for (const double value : row.values) {
      observation.sum += std::min(value, clip);
    }
    rows.push_back(observation);
  }
  return rows;
}

}  // namespace gputopo::change_point
