// Throughput against items a thread: where registers don't hold them any more, and what that costs.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "throughput/benchmarks.hpp"
#include "throughput/onset.hpp"

namespace gputopo::throughput {
namespace {

using program::Workload;
using program::WorkloadTrace;

constexpr std::array<std::uint32_t, 17> items{8, 16, 24, 32, 36, 40, 44, 48, 52, 56, 60, 64, 72, 80, 96, 112, 128};
constexpr std::uint32_t spilling_threads = 1024;  // of an SM, so that each has 64 registers where an SM has 65536
constexpr std::uint64_t operations = 16384;
constexpr std::uint64_t rounds_at_once = 24;      // a multiple of what the kernels' loops have in a row
constexpr double spilling_least_scatter = 0.003;  // a clock's changes

struct Held {
  std::uint32_t items;
  Sample rate;  // multiply-adds of an SM a cycle
  std::uint32_t local_bytes, registers;
};

Expected<Held> measure_items(const Setting& setting, std::uint32_t count) {
  const std::uint32_t sms = setting.meter.info().gpu.sm_count;
  Workload w;
  w.kernel = fmt::format("hold_{}", count);
  w.label = fmt::format("{} items a thread", count);
  w.threads = spilling_threads;
  w.blocks = sms;
  w.buffer_bytes = {std::uint64_t{4} * items.back() * spilling_threads * sms, 0, 0};
  w.numbers = {operations / count / rounds_at_once * rounds_at_once};  // about as many operations each
  Held held{count, {}, 0, 0};
  auto rate = setting.meter.measure(w, [&](const WorkloadTrace& t) {
    held.local_bytes = t.local_bytes;
    held.registers = t.registers;
    return static_cast<double>(w.numbers[0]) * count * spilling_threads / static_cast<double>(t.cycles);
  });
  if (!rate) return tl::unexpected<Error>(rate.error());
  held.rate = *rate;
  return held;
}

Estimate items_estimate(double value, const char* method, std::string note) {
  Estimate e;
  e.value = value;
  e.status = Status::measured;
  e.method = method;
  e.samples = items.size() * runs_of_a_figure;
  e.note = std::move(note);
  return e;
}

void add_spilling_findings(const std::vector<Held>& all, Result& result) {
  const auto spilled = std::find_if(all.begin(), all.end(), [](const Held& h) { return h.local_bytes != 0; });
  if (spilled != all.begin() && spilled != all.end())
    result.findings.push_back(
        {"registers",
         "items_held_by_the_compiler",
         items_estimate((spilled - 1)->items, "local memory of the kernels",
                        fmt::format("{} items take {} registers a thread, {} items {} and {} B of local memory",
                                    (spilled - 1)->items, (spilled - 1)->registers, spilled->items, spilled->registers,
                                    spilled->local_bytes)),
         fmt::format("{} threads an SM", spilling_threads),
         {}});
  const auto most = std::max_element(all.begin(), all.end(),
                                     [](const Held& a, const Held& b) { return a.rate.median < b.rate.median; });
  std::vector<Cost> costs;
  costs.reserve(all.size());
  for (const Held& h : all) costs.push_back({static_cast<double>(h.items), most->rate.median / h.rate.median});
  const auto onset = find_onset(costs, spilling_least_scatter);
  if (!onset) {
    result.notes.emplace_back("no number of items costs more than another, so nothing is spilled to slower memory");
    return;
  }
  Estimate e = items_estimate(all[onset->at].items, "change in slope of the cost of an item", "");
  e.interval = Interval{static_cast<double>(all[onset->low].items), static_cast<double>(all[onset->high].items)};
  e.interval_kind = "range";
  result.findings.push_back(
      {"registers", "items_at_full_rate", e, fmt::format("{} threads an SM", spilling_threads), {}});
  result.findings.push_back({"registers",
                             "rate_of_most_items",
                             estimate_of(all.back().rate, "1/cycle", "workload"),
                             fmt::format("{} items a thread; {:.4g} at most", all.back().items, most->rate.median),
                             {}});
}

}  // namespace

Expected<void> measure_spilling(const Setting& setting, Result& result) {
  std::vector<Held> all;
  Plot plot{"Spilling", "items a thread", "multiply-adds of an SM a cycle", false, {{"1024 threads", {}}}};
  Plot local{"Local memory of a thread, by the compiler", "items a thread", "B", false, {{"1024 threads", {}}}};
  for (const std::uint32_t count : items) {
    setting.progress(static_cast<double>(all.size()) / items.size());
    const auto held = measure_items(setting, count);
    if (!held) return tl::unexpected<Error>(held.error());
    all.push_back(*held);
    const double x = count, bytes = held->local_bytes;
    plot.series.front().points.push_back({x, held->rate.median, held->rate.range});
    local.series.front().points.push_back({x, bytes, {bytes, bytes}});
  }
  add_spilling_findings(all, result);
  result.plots.push_back(std::move(plot));
  result.plots.push_back(std::move(local));
  return {};
}

}  // namespace gputopo::throughput
