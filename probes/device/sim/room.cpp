// How much memory a model's caches take when it is run, known before any of them is made.
#include <algorithm>

#include <fmt/format.h>

#include "device/sim/cache_array.hpp"
#include "device/sim/hierarchy.hpp"
#include "device/sim/reader.hpp"
#include "device/sim/traffic_cache.hpp"

namespace gputopo::sim {
namespace {

constexpr std::uint64_t most_bytes = std::uint64_t{192} << 20;  // of 256 MiB that no file may ask for

// Of all that are kept: each is made when a program first runs on an SM that has it.
std::uint64_t bytes_of(const Model& m, const CacheModel& c) {
  std::uint64_t instances = sharing_sets(m, c).size() * std::uint64_t{c.instances};
  if (c.cleared_at_launch) instances = std::min<std::uint64_t>(instances, Hierarchy::most_kept_units);
  const bool copies = c.partitions.count > 1 && c.partitions.mode == PartitionMode::near_copy;
  const std::uint64_t lines = c.size_bytes / c.line_bytes / c.partitions.count;
  return instances * std::uint64_t{c.partitions.count} * (copies ? 2 : 1) *
         CacheArray::most_bytes(c.organisation, lines);
}

}  // namespace

void check_room(const Model& m) {
  std::uint64_t bytes = 0;
  for (const CacheModel& c : m.caches) bytes += bytes_of(m, c);
  for (const TlbModel& t : m.tlbs)
    bytes += sharing_sets(m, t).size() * CacheArray::most_bytes(t.organisation, t.entries);
  if (const auto l2 = m.path(program::Path::global_l2_only)->front().cache)
    bytes += TrafficCache::bytes(m.caches[*l2].size_bytes, m.caches[*l2].line_bytes);
  if (bytes > most_bytes)
    refuse("/caches",
           fmt::format("take {} MiB to simulate, all that are kept at once and the TLBs, and {} MiB are the most",
                       bytes >> 20U, most_bytes >> 20U),
           "make them smaller or fewer, or their lines longer");
}

}  // namespace gputopo::sim
