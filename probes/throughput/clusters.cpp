// Shared memory of other SMs of a cluster (Hopper and newer): latency and bandwidth by distance.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "change_point/robust.hpp"
#include "throughput/benchmarks.hpp"

namespace gputopo::throughput {
namespace {

using program::Workload;
using program::WorkloadTrace;

constexpr std::array<std::uint32_t, 4> clusters_sizes{2, 4, 8, 16};  // kernels' own; above 8 not every GPU's
constexpr std::uint64_t clusters_turns = 8;
constexpr double loads = 16 * clusters_turns;
constexpr std::uint64_t read_bytes = 65536;
constexpr std::uint32_t clusters_threads = 1024;
constexpr std::uint64_t clusters_alone_bytes = std::uint64_t{120} << 10U;  // lets no second block on an SM of 228 KiB

struct PairLatency {
  std::uint32_t reader_sm, owner_sm;
  double cycles;
};

// Of one cluster, every reader and owner: medians of several launches would mix clusters of different SMs.
Expected<std::vector<PairLatency>> latencies_of(const Setting& setting, std::uint32_t size) {
  Workload w;
  w.kernel = fmt::format("cluster_latency_{}", size);
  w.label = fmt::format("latency in a cluster of {}", size);
  w.threads = program::warp_lanes;
  w.blocks = size;
  w.numbers = {clusters_turns};
  w.output_words = size * (size + 1);
  w.timed = false;
  std::vector<PairLatency> all;
  for (int run = 0; run < runs_of_a_figure; ++run) {
    const auto trace = setting.meter.run(w);
    if (!trace) return tl::unexpected<Error>(trace.error());
    for (std::uint32_t reader = 0; reader < size; ++reader)
      for (std::uint32_t owner = 0; owner < size; ++owner)
        all.push_back(
            {trace->output[reader], trace->output[owner], trace->output[size + reader * size + owner] / loads});
  }
  return all;
}

std::optional<Sample> sample_of(const std::vector<PairLatency>& all,
                                const std::function<bool(const PairLatency&)>& wanted) {
  std::vector<double> values;
  for (const PairLatency& p : all)
    if (wanted(p)) values.push_back(p.cycles);
  if (values.empty()) return std::nullopt;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return Sample{change_point::median(values), {*low, *high}, values.size()};
}

void add_latencies(const std::vector<PairLatency>& all, std::uint32_t size, Plot& plot, Result& result) {
  const auto add = [&](const char* quantity, const std::function<bool(const PairLatency&)>& wanted) {
    const auto s = sample_of(all, wanted);
    if (s)
      result.findings.push_back({"distributed_shared",
                                 quantity,
                                 estimate_of(*s, "cycles", "chain of loads"),
                                 fmt::format("cluster of {}, every pair", size),
                                 {}});
  };
  add("latency_of_own", [](const PairLatency& p) { return p.reader_sm == p.owner_sm; });
  add("latency_of_others", [](const PairLatency& p) { return p.reader_sm != p.owner_sm; });
  Series series{fmt::format("cluster of {}", size), {}};
  const auto distance = [](const PairLatency& p) {
    return std::max(p.reader_sm, p.owner_sm) - std::min(p.reader_sm, p.owner_sm);
  };
  std::uint32_t farthest = 0;
  for (const PairLatency& p : all) farthest = std::max(farthest, distance(p));
  for (std::uint32_t d = 0; d <= farthest; ++d)
    if (const auto s = sample_of(all, [&](const PairLatency& p) { return distance(p) == d; }))
      series.points.push_back({static_cast<double>(d), s->median, s->range});
  plot.series.push_back(std::move(series));
}

Expected<Series> bandwidth_of(const Setting& setting, std::uint32_t size) {
  const std::uint32_t sms = setting.meter.info().gpu.sm_count;
  Series series{fmt::format("cluster of {}", size), {}};
  for (std::uint32_t distance = 0; distance < size; ++distance) {
    Workload w;
    w.kernel = fmt::format("cluster_read_{}", size);
    w.label = fmt::format("reading {} ranks further in a cluster of {}", distance, size);
    w.threads = clusters_threads;
    w.blocks = sms / size * size;
    w.shared_bytes = clusters_alone_bytes;
    w.numbers = {distance, read_bytes, 20};
    const auto rate = setting.meter.measure(w, [&](const WorkloadTrace& t) {
      return static_cast<double>(read_bytes * w.numbers[2]) * w.blocks / t.sms / static_cast<double>(t.cycles);
    });
    if (!rate) return tl::unexpected<Error>(rate.error());
    series.points.push_back({static_cast<double>(distance), rate->median, rate->range});
  }
  return series;
}

void add_bandwidths(const Series& series, std::uint32_t size, Result& result) {
  const auto add = [&](const char* quantity, const Point& p) {
    Estimate e = estimate_of({p.y, p.range, runs_of_a_figure}, "B/cycle", "workload");
    result.findings.push_back(
        {"distributed_shared",
         quantity,
         e,
         fmt::format("cluster of {}, {} ranks further, 16 B, 4 in flight, {} threads", size, p.x, clusters_threads),
         {}});
  };
  add("read_bandwidth_of_own", series.points.front());
  const auto least = [](const Point& a, const Point& b) { return a.y < b.y; };
  add("read_bandwidth_of_others", *std::max_element(series.points.begin() + 1, series.points.end(), least));
  add("least_read_bandwidth_of_others", *std::min_element(series.points.begin() + 1, series.points.end(), least));
}

}  // namespace

Expected<void> measure_clusters(const Setting& setting, Result& result) {
  Plot latency{"Latency of a cluster's shared memory", "distance of SM ids", "cycles", false, {}};
  Plot bandwidth{"Reading a cluster's shared memory", "ranks further", "B/cycle of an SM", false, {}};
  for (const std::uint32_t size : clusters_sizes) {
    setting.progress(std::log2(size) / 5);
    const auto pairs = latencies_of(setting, size);
    const auto series = pairs ? bandwidth_of(setting, size) : tl::unexpected<Error>(pairs.error());
    if (!series && size <= 8) return tl::unexpected<Error>(series.error());
    if (!series) {
      result.notes.push_back(fmt::format("clusters of {}: {}", size, series.error().message));
      continue;
    }
    add_latencies(*pairs, size, latency, result);
    add_bandwidths(*series, size, result);
    bandwidth.series.push_back(*series);
  }
  result.plots.push_back(std::move(latency));
  result.plots.push_back(std::move(bandwidth));
  return {};
}

}  // namespace gputopo::throughput
