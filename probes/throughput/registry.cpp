#include "throughput/registry.hpp"

#include <algorithm>
#include <chrono>

#include "device/provenance.hpp"
#include "stop/stop.hpp"
#include "throughput/benchmarks.hpp"
#include "throughput/meter.hpp"
#include "throughput/neighbours.hpp"

namespace gputopo::throughput {
namespace {

constexpr std::uint64_t usual_line_bytes = 128;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

std::uint64_t Setting::size_of(std::string_view memory) const {
  const Memory* m = sizes.find(memory);
  const Estimate* size = m == nullptr ? nullptr : m->find("size");
  if (size != nullptr && size->value && size->status != Status::inconclusive)
    return static_cast<std::uint64_t>(*size->value);
  return memory == "l2" ? meter.info().l2_bytes : 0;
}

std::uint64_t Setting::line_bytes(std::string_view memory) const {
  const Memory* m = sizes.find(memory);
  const Estimate* line = m == nullptr ? nullptr : m->find("line_size");
  return line != nullptr && line->value && is_usable(*line) ? static_cast<std::uint64_t>(*line->value)
                                                            : usual_line_bytes;
}

std::span<const Benchmark> benchmarks() {
  static const std::vector<Benchmark> rows{
      {"bandwidth",
       "read, write and copy of every level: the best of many configurations, beside the limit",
       10,
       {"l1", "texture", "constant_l1", "constant_l1_5", "l2"},
       measure_bandwidth},
      {"in_flight",
       "throughput by bytes in flight, and how many take a level to 90 %",
       1,
       {"l1", "l2"},
       measure_in_flight},
      {"requests",
       "striped against direct reading and writing by items a thread, and the lines of an access at full rate",
       2,
       {"l1", "l2"},
       measure_requests},
      {"banks", "shared memory's banks, their width, and what a conflict costs", 0.1, {}, measure_banks},
      {"atomics",
       "atomic additions to one address, to one line and spread, in global and shared memory",
       0.1,
       {},
       measure_atomics},
      {"sides",
       "the L2's near and far lines: reading and writing, where it has two sides",
       0.3,
       {"l2"},
       measure_sides,
       false},
      {"placement",
       "what work gains that is placed near its lines of a two-sided L2: latency and throughput of near, far and any",
       0.5,
       {"l2"},
       measure_placement,
       false},
      {"instructions",
       "latency and rate of classes of instructions, barriers, divergent paths, clocks",
       0.1,
       {},
       measure_instructions,
       false},
      {"spilling",
       "throughput by items a thread, and where registers don't hold them",
       0.1,
       {},
       measure_spilling,
       false},
      {"clusters", "shared memory of other SMs of a cluster, by distance", 0.1, {}, measure_clusters, false},
      {"histogram",
       "a histogram from naive to as good as it gets, its gain predicted before it is run",
       1,
       {},
       measure_histogram},
      {"traffic",
       "bytes between L2 and memory of a strided product by counters, beside what was predicted",
       5,
       {"l1", "l2"},
       measure_traffic,
       false},
  };
  return rows;
}

const Benchmark* find_benchmark(std::string_view name) {
  const auto rows = benchmarks();
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const Benchmark& b) { return b.name == name; });
  return found == rows.end() ? nullptr : &*found;
}

Expected<void> check_streams(device::Device& device) {
  Expected<void> first = {};
  for (const program::Path path :
       {program::Path::global_l2_only, program::Path::shared, program::Path::global_cached}) {
    program::Stream s;
    s.label = "one warp";
    s.path = path;
    s.threads = program::warp_lanes;
    if (path == program::Path::shared) s.region = program::Region::block;
    s = program::fitted(s, 4096);
    s.laps = 2;
    const auto trace = device.run_stream(s);
    if (trace) return {};
    if (first) first = tl::unexpected<Error>(trace.error());
  }
  return first;
}

namespace {

// A simulator learns of the user's wish to stop by an exception, everything else by an error.
Expected<void> run_one(const Benchmark& benchmark, const Setting& setting, Result& result) {
  try {
    return benchmark.run(setting, result);
  } catch (const stop::Interrupted& e) {
    return fail(Error::Kind::interrupted, e.what());
  }
}

}  // namespace

Expected<Report> run(device::Device& device, const Topology& sizes, const Options& options) {
  Report report;
  report.gpu = device.info().gpu;
  report.provenance = device::provenance_of(device.info(), options.seed);
  const auto begin = std::chrono::steady_clock::now();
  Meter meter(device, options.stop);
  const auto count = static_cast<double>(options.chosen.size());
  for (std::size_t i = 0; i < options.chosen.size() && !report.interrupted; ++i) {
    const Benchmark& b = *options.chosen[i];
    Result result;
    result.name = b.name;
    const auto start = std::chrono::steady_clock::now();
    const auto tell = [&](double share) {
      if (options.progress) options.progress((static_cast<double>(i) + share) / count, b.name);
    };
    tell(0);
    // What a brief search states is a bound, with others beside it or without.
    const bool asks = options.effort == Effort::full;
    bool beside = asks && has_neighbour(device);
    const auto ok =
        run_one(b, {meter, sizes, tell, options.open_counter, options.memories, options.plots, options.effort}, result);
    beside = (asks && has_neighbour(device)) || beside;
    if (beside) bound_beside_neighbour(result);
    report.interrupted = !ok && ok.error().kind == Error::Kind::interrupted;
    if (!ok && !report.interrupted && !leaves_open(ok.error())) return tl::unexpected<Error>(ok.error());
    if (!ok) result.notes.push_back(report.interrupted ? "interrupted: what was done by then" : ok.error().message);
    result.duration_s = seconds_since(start);
    if (!report.interrupted || !result.findings.empty()) report.results.push_back(std::move(result));
  }
  report.provenance.duration_s = seconds_since(begin);
  return report;
}

}  // namespace gputopo::throughput
