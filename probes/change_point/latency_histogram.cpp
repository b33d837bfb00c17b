#include "change_point/latency_histogram.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace gputopo::change_point {
namespace {

constexpr float smallest = 0x1.0p-10F;
constexpr unsigned mantissa_bits_dropped = 13;  // a float has 23

std::uint32_t key_of(double value) {
  const float clamped = std::clamp(static_cast<float>(value), smallest, std::numeric_limits<float>::max());
  return std::bit_cast<std::uint32_t>(clamped) >> mantissa_bits_dropped;
}

double value_of(std::uint32_t key) {
  return std::bit_cast<float>(key << mantissa_bits_dropped);
}

}  // namespace

std::vector<Bin> latency_histogram(const Trace& trace, std::size_t max_bins) {
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
  for (const auto& row : trace.rows) {
    for (const double value : row.values) {
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  if (high < low) {
    return {};
  }
  const std::uint32_t first = key_of(low);
  std::vector<std::uint64_t> counts(key_of(high) - first + 1, 0);
  for (const auto& row : trace.rows) {
    for (const double value : row.values) {
      ++counts[key_of(value) - first];
    }
  }

  std::vector<Bin> bins;
  for (unsigned shift = 0;; ++shift) {
    bins.clear();
    std::uint32_t last_group = 0;
    for (std::uint32_t i = 0; i < counts.size(); ++i) {
      if (counts[i] == 0) {
        continue;
      }
      const std::uint32_t group = (first + i) >> shift;
      if (bins.empty() || group != last_group) {
        bins.push_back({value_of(first + i), 0});
        last_group = group;
      }
      bins.back().count += counts[i];
    }
    if (bins.size() <= max_bins) {
      return bins;
    }
  }
}

}  // namespace gputopo::change_point
