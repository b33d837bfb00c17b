#include "device/sim/traffic_cache.hpp"

#include <algorithm>
#include <bit>

#include "device/sim/random.hpp"

namespace gputopo::sim {

TrafficCache::TrafficCache(std::uint64_t size_bytes, std::uint32_t line_bytes, std::uint32_t sector_bytes)
    : line_shift_(std::bit_width(line_bytes) - 1U),
      sector_shift_(std::bit_width(sector_bytes) - 1U),
      sets_(std::max<std::uint64_t>(1, size_bytes / line_bytes / ways)),
      lines_(sets_ * ways),
      numbers_(sets_ * ways, none),
      used_(sets_ * ways) {}

void TrafficCache::leave(Line& line) {
  const auto bytes = [this](std::uint32_t bits) {
    return static_cast<double>(static_cast<std::uint64_t>(std::popcount(bits)) << sector_shift_);
  };
  seen_.written += bytes(line.dirty);
  seen_.read += bytes(line.partial);
  line = {};
}

TrafficCache::Line& TrafficCache::line_of(std::uint64_t address) {
  const std::uint64_t number = address >> line_shift_;
  std::size_t& recent = recent_[address >> 30U & 3U];  // vectors begin at multiples of 1 GiB
  if (numbers_[recent] != number) {
    // Sets lie anywhere in megabytes: the processor is told of the one that the walk comes to in a while.
    constexpr std::uint64_t ahead = 8;
    const std::size_t soon = first_of_set(number + ahead * (number - numbers_[recent]));
    for (std::size_t at = soon; at < soon + ways; at += ways / 2) {
      __builtin_prefetch(&numbers_[at]);
      __builtin_prefetch(&used_[at]);
    }
    recent = find(number);
  }
  used_[recent] = ++now_;
  return lines_[recent];
}

std::size_t TrafficCache::first_of_set(std::uint64_t number) const {
  return static_cast<std::size_t>(((mix(number) >> 32U) * sets_) >> 32U) * ways;
}

std::size_t TrafficCache::find(std::uint64_t number) {
  const std::size_t set = first_of_set(number);
  for (std::size_t at = set; at < set + ways; ++at)
    if (numbers_[at] == number) return at;
  std::size_t oldest = set;
  for (std::size_t at = set + 1; at < set + ways; ++at) oldest = used_[at] < used_[oldest] ? at : oldest;
  leave(lines_[oldest]);
  numbers_[oldest] = number;
  return oldest;
}

void TrafficCache::load(std::uint64_t address, std::uint32_t fetch_bytes) {
  Line& line = line_of(address);
  const std::uint32_t sector = sector_of(address);
  if ((line.valid >> sector & 1U) != 0) return;
  const std::uint32_t fetched = std::clamp(fetch_bytes, 1U << sector_shift_, 1U << line_shift_);
  const std::uint32_t sectors = fetched >> sector_shift_;
  const std::uint32_t first = sector & ~(sectors - 1);
  line.valid |= static_cast<std::uint32_t>((std::uint64_t{1} << sectors) - 1) << first;
  seen_.read += fetched;
}

void TrafficCache::store(std::uint64_t address, bool whole) {
  Line& line = line_of(address);
  const std::uint32_t bit = 1U << sector_of(address);
  line.dirty |= bit;
  if (!whole && (line.valid & bit) == 0) line.partial |= bit;
}

void TrafficCache::flush() {
  for (Line& line : lines_) leave(line);
  std::fill(numbers_.begin(), numbers_.end(), none);
}

program::MemoryTraffic TrafficCache::take() {
  const program::MemoryTraffic taken = seen_;
  seen_ = {};
  return taken;
}

}  // namespace gputopo::sim
