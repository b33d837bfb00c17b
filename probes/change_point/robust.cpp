#include "change_point/robust.hpp"

#include <algorithm>
#include <cstddef>

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

}  // namespace gputopo::change_point
