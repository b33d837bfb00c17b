#include "throughput/traffic_counts.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include "change_point/robust.hpp"
#include "counters/metrics.hpp"

namespace gputopo::throughput {
namespace {

using program::MemoryTraffic;
using program::Workload;

constexpr std::uint64_t traffic_counts_element_bytes = 4;
constexpr std::uint64_t sweep_bytes = std::uint64_t{1} << 30U;
constexpr std::uint32_t traffic_counts_threads = 256;
constexpr int empty_runs = 5;

struct Pair {
  MemoryTraffic product, sweep;
};

// Products and sweeps, in the same buffers: the sweep reads what lies behind the first vector.
class Runner {
 public:
  Runner(const Setting& setting, std::uint64_t most_elements) : setting_(setting) {
    const std::uint64_t vector = traffic_counts_element_bytes * most_elements;
    buffers_ = {vector + sweep_bytes, vector, vector};
    behind_ = vector;
  }

  Workload product(const ProductRun& run) const {
    Workload w = base("product", run);
    w.numbers = {run.stride, run.elements};
    w.threads = traffic_counts_threads;
    w.blocks =
        static_cast<std::uint32_t>((run.elements / run.stride + traffic_counts_threads) / traffic_counts_threads);
    return w;
  }

  Workload sweep(const ProductRun& run) const {
    Workload w = base("sweep", run);
    w.numbers = {sweep_bytes, behind_};
    w.threads = 512;
    w.blocks = 1024;
    return w;
  }

 private:
  Workload base(const char* kernel, const ProductRun& run) const {
    Workload w;
    w.kernel = w.label = kernel;
    w.buffer_bytes = buffers_;
    w.timed = false;
    w.fetch_bytes = run.fetch_bytes;
    return w;
  }

  const Setting& setting_;
  std::array<std::uint64_t, 3> buffers_{};
  std::uint64_t behind_ = 0;
};

// What a simulated GPU tells of itself.
Expected<std::vector<Pair>> told(const Setting& setting, const Runner& runner, const std::vector<ProductRun>& runs) {
  std::vector<Pair> pairs;
  for (const ProductRun& run : runs) {
    const auto product = setting.meter.run(runner.product(run));
    if (!product) return tl::unexpected<Error>(product.error());
    const auto sweep = setting.meter.run(runner.sweep(run));
    if (!sweep) return tl::unexpected<Error>(sweep.error());
    if (!product->traffic || !sweep->traffic)
      return fail(Error::Kind::unavailable, "this device doesn't say what passes between its L2 and memory");
    pairs.push_back({*product->traffic, *sweep->traffic});
  }
  return pairs;
}

Expected<std::vector<Pair>> counted_traffic(const Setting& setting, const Runner& runner,
                                            const std::vector<ProductRun>& runs) {
  auto counter = setting.open_counter();
  if (!counter) return tl::unexpected<Error>(counter.error());
  const auto chip = counters::find_chip((*counter)->chip());
  if (!chip) return tl::unexpected<Error>(chip.error());
  const counters::ByteMetrics& dram = *chip->find_bytes("device_memory");
  const auto bytes = [&](double counted) { return counted * static_cast<double>(dram.unit_bytes); };
  // Makes the buffers, and an L2 that holds nothing of them.
  for (const Workload& w : {runner.product(runs.front()), runner.sweep(runs.front())})
    if (const auto ran = setting.meter.run(w); !ran) return tl::unexpected<Error>(ran.error());
  if (auto ok = (*counter)->start({std::string(dram.given), std::string(dram.taken)}, 2 * runs.size()); !ok)
    return tl::unexpected<Error>(ok.error());
  for (const ProductRun& run : runs)
    for (const Workload& w : {runner.product(run), runner.sweep(run)}) {
      if (auto ok = (*counter)->begin_stretch(); !ok) return tl::unexpected<Error>(ok.error());
      if (const auto ran = setting.meter.run(w); !ran) return tl::unexpected<Error>(ran.error());
      if (auto ok = (*counter)->end_stretch(); !ok) return tl::unexpected<Error>(ok.error());
    }
  const auto values = (*counter)->stop();
  if (!values) return tl::unexpected<Error>(values.error());
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i + 1 < values->size(); i += 2)
    pairs.push_back(
        {{bytes((*values)[i][0]), bytes((*values)[i][1])}, {bytes((*values)[i + 1][0]), bytes((*values)[i + 1][1])}});
  if (pairs.size() != runs.size()) return fail(Error::Kind::device, "the counters lost a product; try again");
  return pairs;
}

// The median of one number over some of the pairs.
template <typename Of>
double median_of(const std::vector<Pair>& pairs, std::size_t first, std::size_t step, std::size_t count, const Of& of) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(of(pairs[first + i * step]));
  return change_point::median(std::move(values));
}

CountedTraffic traffic_of(const std::vector<Pair>& pairs, std::size_t first, std::size_t step, std::size_t count) {
  const auto of = [&](MemoryTraffic Pair::*part, double MemoryTraffic::*which) {
    return median_of(pairs, first, step, count, [&](const Pair& p) { return p.*part.*which; });
  };
  return {{of(&Pair::product, &MemoryTraffic::read), of(&Pair::product, &MemoryTraffic::written)},
          {of(&Pair::sweep, &MemoryTraffic::read), of(&Pair::sweep, &MemoryTraffic::written)}};
}

void subtract(MemoryTraffic& from, const MemoryTraffic& what) {
  from.read = std::max(0.0, from.read - what.read);
  from.written = std::max(0.0, from.written - what.written);
}

}  // namespace

std::uint64_t bytes_of_products(std::uint64_t elements) {
  return 3 * traffic_counts_element_bytes * elements + sweep_bytes;
}

Expected<std::vector<CountedTraffic>> count_products(const Setting& setting, const std::vector<ProductRun>& runs) {
  std::uint64_t most = 1;
  for (const ProductRun& run : runs) most = std::max(most, run.elements);
  const bool simulated = setting.meter.info().kind == "sim";
  if (!simulated && !setting.open_counter) return fail(Error::Kind::unavailable, "nobody opened this GPU's counters");
  // Turn by turn, so that what changes in time changes all alike; each turn begins with empty products.
  const int turns = simulated ? 1 : runs_of_traffic;
  std::vector<ProductRun> all(empty_runs, ProductRun{most, most, runs.front().fetch_bytes});
  for (int turn = 0; turn < turns; ++turn) all.insert(all.end(), runs.begin(), runs.end());
  const Runner runner(setting, most);
  const auto pairs = simulated ? told(setting, runner, all) : counted_traffic(setting, runner, all);
  if (!pairs) return tl::unexpected<Error>(pairs.error());
  const CountedTraffic empty = traffic_of(*pairs, 0, 1, empty_runs);
  std::vector<CountedTraffic> traffic;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    traffic.push_back(traffic_of(*pairs, empty_runs + i, runs.size(), static_cast<std::size_t>(turns)));
    subtract(traffic.back().kernel, empty.kernel);
    subtract(traffic.back().later, empty.later);
  }
  return traffic;
}

}  // namespace gputopo::throughput
