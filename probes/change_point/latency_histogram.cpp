#include "change_point/latency_histogram.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace gputopo::change_point {
namespace {

constexpr float smallest = 0x1.0p-10F;
constexpr unsigned mantissa_bits_dropped = 13;  // a float has 23

std::uint32_t key_of(double value) {
  const float clamped = std::clamp(static_cast<float>(value), smallest, std::numeric_limits<float>::max());
  return std::bit_cast<std::uint32_t>(clamped) >> mantissa_bits_dropped;
}

// A clock that ticks slowly reads 0, a multiple of its tick like all others.
double value_of(std::uint32_t key) {
  return key == key_of(0) ? 0.0 : std::bit_cast<float>(key << mantissa_bits_dropped);
}

// Smallest and largest value, or (infinity, 0) without values. Four of each at a time: a single one would wait for
// itself.
std::pair<double, double> range_of(const std::vector<double>& values) {
  constexpr std::size_t lanes = 4;
  std::array<double, lanes> low{};
  std::array<double, lanes> high{};
  low.fill(std::numeric_limits<double>::infinity());
  const std::size_t whole = values.size() / lanes * lanes;
  for (std::size_t i = 0; i < whole; i += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const double value = values[i + lane];
      low[lane] = value < low[lane] ? value : low[lane];
      high[lane] = value > high[lane] ? value : high[lane];
    }
  }
  for (std::size_t i = whole; i < values.size(); ++i) {
    low[0] = std::min(low[0], values[i]);
    high[0] = std::max(high[0], values[i]);
  }
  return {*std::min_element(low.begin(), low.end()), *std::max_element(high.begin(), high.end())};
}

}  // namespace

void LatencyCounts::add(const std::vector<double>& values) {
  const auto [low, high] = range_of(values);
  if (high < low) {
    return;
  }
  cover(key_of(low), key_of(high));
  for (const double value : values) {
    ++counts_[key_of(value) - first_];
  }
}

void LatencyCounts::cover(std::uint32_t low, std::uint32_t high) {
  if (counts_.empty()) {
    first_ = low;
  }
  if (low < first_) {
    counts_.insert(counts_.begin(), first_ - low, 0);
    first_ = low;
  }
  if (high - first_ >= counts_.size()) {
    counts_.resize(high - first_ + 1, 0);
  }
}

std::vector<Bin> LatencyCounts::bins(std::size_t max_bins) const {
  std::vector<Bin> bins;
  for (unsigned shift = 0;; ++shift) {
    bins.clear();
    std::uint32_t last_group = 0;
    for (std::uint32_t i = 0; i < counts_.size(); ++i) {
      if (counts_[i] == 0) {
        continue;
      }
      const std::uint32_t group = (first_ + i) >> shift;
      if (bins.empty() || group != last_group) {
        bins.push_back({value_of(first_ + i), 0});
        last_group = group;
      }
      bins.back().count += counts_[i];
    }
    if (bins.size() <= max_bins) {
      return bins;
    }
  }
}

std::vector<Bin> latency_histogram(const Trace& trace, std::size_t max_bins) {
  LatencyCounts counts;
  for (const auto& row : trace.rows) {
    counts.add(row.values);
  }
  return counts.bins(max_bins);
}

double clock_quantum(std::span<const Bin> bins) {
  std::uint64_t divisor = 0;
  for (const Bin& bin : bins) {
    if (bin.value != std::floor(bin.value)) {
      return 0;
    }
    divisor = std::gcd(divisor, static_cast<std::uint64_t>(bin.value));
  }
  return static_cast<double>(divisor & (~divisor + 1));
}

}  // namespace gputopo::change_point
