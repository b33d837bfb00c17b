// The worked example: a histogram of bytes, from naive to as good as it gets. What each step gains is predicted from
// the figures of the GPU before it is run.
#include <algorithm>
#include <array>
#include <random>

#include <fmt/format.h>

#include "throughput/benchmarks.hpp"

namespace gputopo::throughput {
namespace {

using program::Path;
using program::Stream;
using program::Workload;
using program::WorkloadTrace;

constexpr std::uint64_t values = std::uint64_t{128} << 20U;  // bytes, more than any L2 holds
constexpr std::uint32_t bins = 256;
constexpr int runs = 3;
constexpr std::uint32_t banks = 32;
constexpr std::uint32_t sectors = 32;  // of the words for all values, as many as a warp has lanes
constexpr std::uint32_t histogram_threads = 512;
constexpr std::uint32_t blocks_of_sm = 4;

// What the prediction rests on, each measured before.
struct Figures {
  AdditionRates memory, shared;
  double read_by_4 = 0, read_by_16 = 0;  // bytes of the GPU a cycle, by threads that wait for each load
  double sms = 1;
};

// Reading as the histograms do it: so many threads, each with one load under way.
Expected<double> read_by(const Setting& setting, std::uint32_t width) {
  const std::uint32_t sms = setting.meter.info().gpu.sm_count;
  Stream s;
  s.label = "reading for a histogram";
  s.access_bytes = width;
  s.threads = histogram_threads;
  s.blocks = blocks_of_sm * sms;
  s = program::fitted(s, values);
  const auto read = setting.meter.measure(s, Rate::bytes_per_sm_cycle);
  if (!read) return tl::unexpected<Error>(read.error());
  return read->median * sms;
}

Expected<Figures> measure_figures(const Setting& setting) {
  Figures f;
  f.sms = setting.meter.info().gpu.sm_count;
  const auto memory = addition_rates(setting, Path::global_cached);
  if (!memory) return tl::unexpected<Error>(memory.error());
  const auto shared = addition_rates(setting, Path::shared);
  if (!shared) return tl::unexpected<Error>(shared.error());
  f.memory = *memory, f.shared = *shared;
  const auto narrow = read_by(setting, 4), wide = read_by(setting, 16);
  if (!narrow) return tl::unexpected<Error>(narrow.error());
  if (!wide) return tl::unexpected<Error>(wide.error());
  f.read_by_4 = *narrow, f.read_by_16 = *wide;
  return f;
}

// Where a warp's lanes go that each want one of `places`, by chance: how many of these, and how many lanes the same one
// at most; means over many throws.
struct Thrown {
  double places = 0, most = 0;
};
Thrown thrown(std::uint32_t places) {
  constexpr int throws = 20000;
  std::minstd_rand random(1);
  Thrown mean;
  for (int i = 0; i < throws; ++i) {
    std::vector<int> count(places);
    int most = 0;
    for (std::uint32_t lane = 0; lane < program::warp_lanes; ++lane) most = std::max(most, ++count[random() % places]);
    mean.most += most;
    mean.places += static_cast<double>(places) - static_cast<double>(std::count(count.begin(), count.end(), 0));
  }
  return {mean.places / throws, mean.most / throws};
}

// Additions a cycle of the GPU to one word for each value: a warp asks for each sector that its lanes want once, and
// lanes that want the same word add one after the other.
double additions_in_memory(const Figures& f, bool alike) {
  if (alike) return f.memory.address;
  const double again = program::warp_lanes - thrown(bins).places;
  return program::warp_lanes / (thrown(sectors).places / f.memory.sectors + again / f.memory.address);
}

// A warp's lanes that want one bank take turns, each as long as an addition of a warp to as many banks as it has lanes.
double additions_in_shared(const Figures& f, bool alike) {
  return f.sms * (alike ? f.shared.address : f.shared.spread / thrown(banks).most);
}

double additions_with_copies(const Figures& f, bool) {
  return f.sms * f.shared.spread;
}

struct HistogramStep {
  const char* kernel;
  std::uint32_t shared_bytes;
  double (*additions)(const Figures&, bool alike);
  double Figures::*reading;
  bool by_block = true;  // each block counts for itself and adds its counts to those in memory
};
constexpr std::array<HistogramStep, 4> steps{
    {{"histogram_global", 0, additions_in_memory, &Figures::read_by_4, false},
     {"histogram_shared", bins * 4, additions_in_shared, &Figures::read_by_4},
     {"histogram_copies", bins * 4 * 32, additions_with_copies, &Figures::read_by_4},
     {"histogram_wide", bins * 4 * 32, additions_with_copies, &Figures::read_by_16}}};

// Values a cycle of the GPU: each is a byte to be read and an addition, and in the end blocks add their counts.
double predicted_rate(const Figures& f, const HistogramStep& step, bool alike) {
  const double counting = values / std::min(step.additions(f, alike), f.*step.reading);
  return values / (counting + (step.by_block ? f.sms * blocks_of_sm * bins / f.memory.rows : 0));
}

Workload filling(bool alike) {
  Workload w;
  w.label = w.kernel = "fill";
  w.threads = 512;
  w.blocks = 1024;
  w.buffer_bytes = {values, std::uint64_t{4} * bins, 0};
  w.numbers = {values, alike ? 77U : 0U};
  w.timed = false;
  return w;
}

// Values a cycle of the GPU.
Expected<Sample> measure_step(const Setting& setting, const HistogramStep& step) {
  Workload w;
  w.label = w.kernel = step.kernel;
  w.threads = histogram_threads;
  w.blocks = blocks_of_sm * setting.meter.info().gpu.sm_count;
  w.shared_bytes = step.shared_bytes;
  w.buffer_bytes = {values, std::uint64_t{4} * bins, 0};
  w.numbers = {values};
  return setting.meter.measure(
      w, [](const WorkloadTrace& t) { return static_cast<double>(values) / static_cast<double>(t.cycles); }, runs);
}

// Whether every value was counted, in all runs of a step; the counts begin anew.
Expected<bool> counted_all(const Setting& setting) {
  Workload w;
  w.label = w.kernel = "histogram_counts";
  w.threads = bins;
  w.buffer_bytes = {values, std::uint64_t{4} * bins, 0};
  w.output_words = bins;
  w.timed = false;
  const auto trace = setting.meter.run(w);
  if (!trace) return tl::unexpected<Error>(trace.error());
  std::uint64_t sum = 0;
  for (const std::uint32_t count : trace->output) sum += count;
  return sum == values * runs;
}

}  // namespace

Expected<void> measure_histogram(const Setting& setting, Result& result) {
  const auto f = measure_figures(setting);
  if (!f) return tl::unexpected<Error>(f.error());
  if (const auto cleared = counted_all(setting); !cleared) return tl::unexpected<Error>(cleared.error());
  Plot plot{"Histogram", "step, from naive on", "values a cycle of the GPU", false, {}};
  double done = 0;
  for (const bool alike : {false, true}) {
    if (const auto filled = setting.meter.run(filling(alike)); !filled) return tl::unexpected<Error>(filled.error());
    const char* data = alike ? "all values alike" : "values in no order";
    Series predicted{fmt::format("{}, predicted", data), {}}, measured{fmt::format("{}, measured", data), {}};
    double first = 0, first_predicted = 0;
    for (const HistogramStep& step : steps) {
      setting.progress(done++ / (2 * steps.size()));
      const double expected = predicted_rate(*f, step, alike);
      const auto rate = measure_step(setting, step);
      if (!rate) return tl::unexpected<Error>(rate.error());
      const auto complete = counted_all(setting);
      if (!complete) return tl::unexpected<Error>(complete.error());
      if (first == 0) first = rate->median, first_predicted = expected;
      const double x = static_cast<double>(measured.points.size()) + 1;
      predicted.points.push_back({x, expected, {expected, expected}});
      measured.points.push_back({x, rate->median, rate->range});
      Estimate e = estimate_of(*rate, "1/cycle", "workload");
      e.note =
          fmt::format("values of the GPU; {:.4g} times the naive one, {:.4g} times predicted ({:.4g} values a cycle)",
                      rate->median / first, expected / first_predicted, expected);
      if (!*complete) {
        e = {};
        e.unit = "1/cycle";
        e.note = "it didn't count every value: an error of the measurement";
      }
      result.findings.push_back({"histogram",
                                 step.kernel,
                                 e,
                                 fmt::format("{}, {} threads x {} an SM", data, histogram_threads, blocks_of_sm),
                                 {}});
    }
    plot.series.push_back(std::move(predicted));
    plot.series.push_back(std::move(measured));
  }
  result.plots.push_back(std::move(plot));
  return {};
}

}  // namespace gputopo::throughput
