#include "throughput/traffic.hpp"

#include <algorithm>

namespace gputopo::throughput {
namespace {

constexpr double traffic_element_bytes = 4;
constexpr std::uint64_t usual_sector_bytes = 32;
constexpr std::uint64_t most_sectors_of_a_line = 4;

std::uint64_t whole(const Topology& t, const char* memory, const char* attribute) {
  const Memory* m = t.find(memory);
  const Estimate* e = m == nullptr ? nullptr : m->find(attribute);
  return e != nullptr && is_usable(*e) && e->value && *e->value >= 1 ? static_cast<std::uint64_t>(*e->value) : 0;
}

}  // namespace

Expected<TrafficProperties> traffic_properties(const Topology& topology) {
  TrafficProperties p;
  p.fetch_bytes = whole(topology, "l2", "sector_size");
  p.sector_bytes = whole(topology, "l1", "sector_size");
  p.l2_bytes = whole(topology, "l2", "size");
  p.simulated = topology.provenance.simulated;
  if (p.fetch_bytes == 0)
    return fail(Error::Kind::unavailable,
                "no traffic can be predicted: the topology doesn't know how much the L2 fetches (l2, sector_size); "
                "measure it with gputopo discover --only l1,l2");
  if (p.sector_bytes == 0 || p.fetch_bytes % p.sector_bytes != 0) p.sector_bytes = usual_sector_bytes;
  return p;
}

std::vector<std::uint64_t> strides_of_waiting(const TrafficProperties& p) {
  std::vector<std::uint64_t> strides{1};
  const std::uint64_t in_sector = p.sector_bytes / static_cast<std::uint64_t>(traffic_element_bytes);
  for (std::uint64_t stride = in_sector; stride <= in_sector * most_sectors_of_a_line; stride *= 2)
    strides.push_back(stride);
  return strides;
}

Traffic predict_traffic(const TrafficProperties& p, double vector_bytes, std::uint64_t stride, const Waiting& waiting) {
  const double step = traffic_element_bytes * static_cast<double>(stride);
  const auto touched = [&](std::uint64_t unit) {
    return vector_bytes * std::min(1.0, static_cast<double>(unit) / step);
  };
  Traffic t;
  t.read_by_loads = 2 * touched(p.fetch_bytes);
  t.written = touched(p.sector_bytes);
  // Stride 1 writes whole sectors, which nobody has to know the rest of.
  t.read_by_stores = stride == 1 ? 0 : t.written;
  t.waiting = std::min(t.written, static_cast<double>(p.l2_bytes));
  if (waiting.by_stride.empty()) return t;
  // Strides between two samples write as many sectors of a line as the shorter one, those beyond the last one each.
  auto sample = waiting.by_stride.upper_bound(stride);
  if (sample != waiting.by_stride.begin()) --sample;
  if (stride > 1 && sample->first == 1) ++sample;
  if (sample == waiting.by_stride.end()) return t;
  t.read_later = std::min(t.read_by_stores, sample->second.read);
  t.written_later = std::min(t.written, sample->second.written);
  return t;
}

Traffic published_traffic(double vector_bytes, std::uint64_t stride, bool since_volta) {
  constexpr double line_elements = 8;
  constexpr double of_the_prefetcher = 1.6;
  Traffic t;
  t.written = vector_bytes * std::min(1.0, line_elements / static_cast<double>(stride));
  const double factor = since_volta && static_cast<double>(stride) > line_elements ? of_the_prefetcher : 1;
  t.read_by_loads = 2 * factor * t.written;
  t.read_by_stores = stride == 1 ? 0 : factor * t.written;
  return t;
}

}  // namespace gputopo::throughput
