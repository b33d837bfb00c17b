#include "device/sim/traffic_cache.hpp"

#include <algorithm>
#include <bit>

#include "device/sim/random.hpp"

namespace gputopo::sim {

TrafficCache::TrafficCache(std::uint64_t size_bytes, std::uint32_t line_bytes, std::uint32_t sector_bytes)
    : line_shift_(std::bit_width(line_bytes) - 1U),
      sector_shift_(std::bit_width(sector_bytes) - 1U),
      sets_(std::max<std::uint64_t>(1, size_bytes / line_bytes / ways)) {
  recent_.fill({sets_.data(), 0});
}

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
  Place& recent = recent_[address >> 30U & 3U];  // vectors begin at multiples of 1 GiB
  const std::uint64_t latest = recent.set->numbers[recent.way];
  if (latest != number) {
    // Sets lie anywhere in megabytes: the processor is told of the one that the walk comes to in a while.
    constexpr std::uint64_t ahead = 8;
    const Set& soon = set_of(number + ahead * (number - latest));
    __builtin_prefetch(&soon.order, 1);
    __builtin_prefetch(&soon.numbers[ways / 2], 1);
    __builtin_prefetch(&soon.lines[way_at(soon.order, ways - 1)], 1);
    recent = find(number);
  }
  recent.set->order = with_in_front(recent.set->order, recent.way);
  return recent.set->lines[recent.way];
}

TrafficCache::Set& TrafficCache::set_of(std::uint64_t number) {
  return sets_[((mix(number) >> 32U) * sets_.size()) >> 32U];
}

TrafficCache::Place TrafficCache::find(std::uint64_t number) {
  Set& set = set_of(number);
  for (std::uint32_t way = 0; way < ways; ++way)
    if (set.numbers[way] == number) return {&set, way};
  const std::uint32_t oldest = way_at(set.order, ways - 1);
  leave(set.lines[oldest]);
  set.numbers[oldest] = number;
  return {&set, oldest};
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
  for (Set& set : sets_) {
    for (Line& line : set.lines) leave(line);
    set.numbers.fill(none);
  }
}

program::MemoryTraffic TrafficCache::take() {
  const program::MemoryTraffic taken = seen_;
  seen_ = {};
  return taken;
}

}  // namespace gputopo::sim
