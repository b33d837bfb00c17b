// The strided product's traffic by counters beside its prediction, stride by stride.
#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "throughput/benchmarks.hpp"
#include "throughput/traffic.hpp"
#include "throughput/traffic_counts.hpp"

namespace gputopo::throughput {
namespace {

constexpr double traffic_bench_element_bytes = 4;
constexpr std::array<std::uint64_t, 3> traffic_bench_sizes{50'000'000, 100'000'000, 200'000'000};
constexpr std::uint64_t last_stride = 8192;
constexpr std::uint64_t last_judged_stride = 1024;  // as published: beyond it a launch's own traffic is a large part
constexpr std::uint64_t sampled_elements = 32'000'000;  // other vectors than those that are predicted
constexpr std::array<std::uint32_t, 3> granularities{32, 64, 128};

struct TrafficRow {
  std::uint64_t stride;
  CountedTraffic counted;
  Traffic predicted;
  double published;  // read and written
};

struct Case {
  std::uint64_t elements;
  std::uint32_t fetch_bytes;  // as it is labelled
  std::vector<TrafficRow> rows;
};

double accuracy(double measured, double predicted) {
  return measured > 0 ? 100 * (1 - std::fabs(measured - predicted) / measured) : 0;
}

struct TrafficKind {
  const char* quantity;
  const char* label;
  double (*of)(const TrafficRow&);
};
const std::array<TrafficKind, 3> traffic_bench_kinds{
    {{"traffic_accuracy", "with what was left in the L2",
      [](const TrafficRow& r) { return accuracy(r.counted.all(), r.predicted.all()); }},
     {"kernel_traffic_accuracy", "until the kernel's end",
      [](const TrafficRow& r) {
        return accuracy(r.counted.kernel.read + r.counted.kernel.written, r.predicted.until_the_end());
      }},
     {"published_model_accuracy", "of the published model, until the kernel's end",
      [](const TrafficRow& r) { return accuracy(r.counted.kernel.read + r.counted.kernel.written, r.published); }}}};

std::string name_of(const Case& c) {
  return fmt::format("{} M floats, {} B at once", c.elements / 1'000'000, c.fetch_bytes);
}

void add_traffic_findings(const Case& c, Plot& plot, Result& result) {
  for (const TrafficKind& kind : traffic_bench_kinds) {
    Series series{fmt::format("{}, {}", name_of(c), kind.label), {}};
    double sum = 0, lowest = 100, count = 0;
    std::uint64_t where = 1;
    for (const TrafficRow& row : c.rows) {
      const double value = kind.of(row);
      series.points.push_back({static_cast<double>(row.stride), value, {value, value}});
      if (row.stride > last_judged_stride) continue;
      sum += value;
      ++count;
      if (value < lowest) lowest = value, where = row.stride;
    }
    Estimate e;
    e.value = sum / count;
    e.unit = "%";
    e.status = Status::measured;
    e.method = "prediction against counters";
    e.samples = c.rows.size() * runs_of_traffic;
    e.note = fmt::format("the mean over strides 1 to {}; {:.1f} % at stride {}, the lowest", last_judged_stride, lowest,
                         where);
    result.findings.push_back({"device_memory", kind.quantity, e, name_of(c), {}});
    plot.series.push_back(std::move(series));
  }
}

Plot plot_of(const Case& c) {
  Plot plot{"Traffic by stride, " + name_of(c), "stride (floats)", "MB", true, {}};
  using Of = double (*)(const TrafficRow&);
  const std::array<std::pair<const char*, Of>, 6> curves{
      {{"read", [](const TrafficRow& r) { return r.counted.kernel.read; }},
       {"read after the end", [](const TrafficRow& r) { return r.counted.later.read; }},
       {"read, predicted in all", [](const TrafficRow& r) { return r.predicted.read(); }},
       {"written", [](const TrafficRow& r) { return r.counted.kernel.written; }},
       {"written after the end", [](const TrafficRow& r) { return r.counted.later.written; }},
       {"written, predicted in all", [](const TrafficRow& r) { return r.predicted.written; }}}};
  for (const auto& [label, of] : curves) {
    Series series{label, {}};
    for (const TrafficRow& row : c.rows) {
      const double megabytes = of(row) / 1e6;
      series.points.push_back({static_cast<double>(row.stride), megabytes, {megabytes, megabytes}});
    }
    plot.series.push_back(std::move(series));
  }
  return plot;
}

// What may wait at a kernel's end, by how much of a line is written: counted with other vectors, long enough to fill
// it.
Expected<Waiting> sample_waiting(const Setting& setting, const TrafficProperties& p, std::uint32_t asked) {
  std::vector<ProductRun> runs;
  for (const std::uint64_t stride : strides_of_waiting(p)) runs.push_back({sampled_elements, stride, asked});
  const auto counted = count_products(setting, runs);
  if (!counted) return tl::unexpected<Error>(counted.error());
  Waiting waiting;
  for (std::size_t i = 0; i < runs.size(); ++i)
    waiting.by_stride[runs[i].stride] = {(*counted)[i].later.read, (*counted)[i].later.written};
  return waiting;
}

Expected<Case> measure_case(const Setting& setting, const TrafficProperties& p, const Waiting& waiting,
                            std::uint64_t elements, std::uint32_t asked) {
  std::vector<ProductRun> runs;
  for (std::uint64_t stride = 1; stride <= last_stride; stride *= 2) runs.push_back({elements, stride, asked});
  const auto counted = count_products(setting, runs);
  if (!counted) return tl::unexpected<Error>(counted.error());
  Case c{elements, static_cast<std::uint32_t>(p.fetch_bytes), {}};
  const double bytes = traffic_bench_element_bytes * static_cast<double>(elements);
  for (std::size_t i = 0; i < runs.size(); ++i)
    c.rows.push_back({runs[i].stride, (*counted)[i], predict_traffic(p, bytes, runs[i].stride, waiting),
                      published_traffic(bytes, runs[i].stride, p.fetch_bytes > p.sector_bytes).all()});
  return c;
}

}  // namespace

Expected<void> measure_traffic(const Setting& setting, Result& result) {
  const auto properties = traffic_properties(setting.sizes);
  if (!properties) return tl::unexpected<Error>(properties.error());
  const device::DeviceInfo& info = setting.meter.info();
  // A simulated GPU walks vectors element by element, and has no limit to set.
  const std::span<const std::uint64_t> all_sizes(traffic_bench_sizes);
  const auto own_sizes = info.simulated ? all_sizes.first(1) : all_sizes;
  std::vector<std::uint32_t> asked{0};
  if (!info.simulated)
    for (const std::uint32_t g : granularities)
      if (g != properties->fetch_bytes) asked.push_back(g);
  Plot accuracies{"Accuracy of the prediction by stride", "stride (floats)", "%", true, {}};
  double done = 0;
  for (const std::uint32_t g : asked) {
    TrafficProperties p = *properties;
    if (g != 0) p.fetch_bytes = g;
    const auto waiting = sample_waiting(setting, p, g);
    if (!waiting && (g == 0 || !leaves_open(waiting.error()))) return tl::unexpected<Error>(waiting.error());
    if (!waiting) {
      result.notes.push_back(waiting.error().message);
      continue;
    }
    for (const std::uint64_t elements : own_sizes) {
      setting.progress(done++ / static_cast<double>(asked.size() * own_sizes.size()));
      if (bytes_of_products(elements) > info.largest_buffer_bytes) {
        result.notes.push_back(fmt::format("{} M floats: this GPU has no room for them", elements / 1'000'000));
        continue;
      }
      const auto c = measure_case(setting, p, *waiting, elements, g);
      if (!c) return tl::unexpected<Error>(c.error());
      add_traffic_findings(*c, accuracies, result);
      result.plots.push_back(plot_of(*c));
    }
  }
  if (!accuracies.series.empty()) result.plots.push_back(std::move(accuracies));
  return {};
}

}  // namespace gputopo::throughput
