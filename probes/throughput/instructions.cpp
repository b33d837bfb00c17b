// Latency and rate of classes of instructions, and of what isn't arithmetic: barriers, divergent paths, clocks.
//
// After Wong et al., "Demystifying GPU Microarchitecture through Microbenchmarking" (2010), section IV: one warp that
// waits for each of its instructions tells latency, as many warps and chains as there is room for tell rate.
#include <array>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "throughput/benchmarks.hpp"

namespace gputopo::throughput {
namespace {

using program::Workload;
using program::WorkloadTrace;

struct Class {
  const char* name;
  double
      of_warp;  // results of one instruction of a warp: lanes, and of products the single ones, unless the kernel says
  const char* per_step = "";
};
constexpr std::array<Class, 17> classes{{{"integer_add", 32},
                                         {"integer_multiply_add", 32},
                                         {"integer_logic", 32},
                                         {"integer_shift", 32},
                                         {"integer_count_bits", 32},
                                         {"integer_divide", 32},
                                         {"float_add", 32},
                                         {"float_multiply_add", 32},
                                         {"float_divide", 32},
                                         {"half_multiply_add", 64},
                                         {"double_multiply_add", 32},
                                         {"special_reciprocal_root", 32},
                                         {"special_exponential", 32},
                                         {"convert", 64, "to integers and back"},
                                         {"shuffle", 32},
                                         {"tensor_half", 16 * 8 * 16, "by mma.sync"},
                                         {"tensor_double", 8 * 8 * 4, "by mma.sync"}}};

constexpr std::uint32_t instructions_most_threads = 1024;
constexpr double rounds_of_latency = 40;
constexpr double rounds_of_rate = 20;
constexpr int barriers_in_a_round = 32;
constexpr int path_operations = 64;

Workload chains_of(const Class& c, int chains, std::uint32_t threads, std::uint32_t blocks) {
  Workload w;
  w.label = c.name;
  w.kernel = fmt::format("chain_{}_{}", c.name, chains);
  w.threads = threads;
  w.blocks = blocks;
  w.numbers = {static_cast<std::uint64_t>(chains == 1 && blocks == 1 ? rounds_of_latency : rounds_of_rate)};
  w.output_words = 2;  // operations of a thread in a round, and a tensor instruction's products
  return w;
}

double cycles_of_one(const WorkloadTrace& t, const Workload& w) {
  return static_cast<double>(t.cycles) / static_cast<double>(w.numbers[0]) / t.output[0];
}

double results_of(const Class& c, const WorkloadTrace& t) {
  return t.output.size() > 1 && t.output[1] != 0 ? t.output[1] : c.of_warp;
}

// Results a cycle of one SM.
Expected<Sample> instruction_rate(const Setting& setting, const Class& c, int chains, std::uint32_t threads) {
  const Workload w = chains_of(c, chains, threads, setting.meter.info().gpu.sm_count);
  const double warps = threads / static_cast<double>(program::warp_lanes);
  return setting.meter.measure(w,
                               [&](const WorkloadTrace& t) { return results_of(c, t) * warps / cycles_of_one(t, w); });
}

Expected<void> measure_class(const Setting& setting, const Class& c, Result& result) {
  const Workload w = chains_of(c, 1, program::warp_lanes, 1);
  const double steps = std::string_view(c.name) == "convert" ? 2 : 1;
  const auto latency = setting.meter.measure(w, [&](const WorkloadTrace& t) { return cycles_of_one(t, w) / steps; });
  if (!latency) return tl::unexpected<Error>(latency.error());
  result.findings.push_back({"instructions",
                             fmt::format("{}_latency", c.name),
                             estimate_of(*latency, "cycles", "a chain of one warp"),
                             c.per_step,
                             {}});
  const auto rate = instruction_rate(setting, c, 4, instructions_most_threads);
  if (!rate) return tl::unexpected<Error>(rate.error());
  result.findings.push_back(
      {"instructions",
       fmt::format("{}_rate", c.name),
       estimate_of(*rate, "1/cycle", "chains of many warps"),
       c.of_warp > 64 ? "multiply-adds of one SM, 1024 threads x 4 chains" : "lanes of one SM, 1024 threads x 4 chains",
       {}});
  return {};
}

Point point_of(double x, const Sample& s) {
  return {x, s.median, s.range};
}

Expected<void> plot_rate(const Setting& setting, Result& result) {
  Plot plot{"Multiply-adds by warps", "warps of an SM", "1/cycle of an SM", false, {}};
  for (const int chains : {1, 4}) {
    Series series{fmt::format("{} independent {} a thread", chains, chains == 1 ? "chain" : "chains"), {}};
    for (std::uint32_t warps = 1; warps <= instructions_most_threads / program::warp_lanes;
         warps += warps < 8 ? 1 : 4) {
      const auto rate = instruction_rate(setting, classes[7], chains, warps * program::warp_lanes);
      if (!rate) return tl::unexpected<Error>(rate.error());
      series.points.push_back(point_of(warps, *rate));
    }
    plot.series.push_back(std::move(series));
  }
  result.plots.push_back(std::move(plot));
  return {};
}

Expected<void> measure_barriers(const Setting& setting, Result& result) {
  Plot plot{"Barriers of a block", "warps of the block", "cycles a barrier", false, {{"__syncthreads", {}}}};
  for (std::uint32_t warps = 1; warps <= instructions_most_threads / program::warp_lanes; warps *= 2) {
    Workload w;
    w.label = w.kernel = "barriers";
    w.threads = warps * program::warp_lanes;
    w.blocks = setting.meter.info().gpu.sm_count;
    w.numbers = {100};
    const auto cost = setting.meter.measure(w, [&](const WorkloadTrace& t) {
      return static_cast<double>(t.cycles) / static_cast<double>(w.numbers[0]) / barriers_in_a_round;
    });
    if (!cost) return tl::unexpected<Error>(cost.error());
    plot.series.front().points.push_back(point_of(warps, *cost));
    if (warps == 1 || warps * program::warp_lanes == instructions_most_threads)
      result.findings.push_back({"control",
                                 fmt::format("barrier_of_{}_warps", warps),
                                 estimate_of(*cost, "cycles", "barriers in a row"),
                                 {},
                                 {}});
  }
  result.plots.push_back(std::move(plot));
  return {};
}

// The slope of cycles over paths by least squares.
double instruction_slope(const Series& s) {
  double n = 0, mx = 0, my = 0, xx = 0, xy = 0;
  for (const Point& p : s.points) ++n, mx += p.x, my += p.y;
  mx /= n, my /= n;
  for (const Point& p : s.points) xx += (p.x - mx) * (p.x - mx), xy += (p.x - mx) * (p.y - my);
  return xy / xx;
}

Estimate plain(double value, const char* unit, const char* method, std::string note) {
  Estimate e;
  e.value = value;
  e.unit = unit;
  e.status = Status::measured;
  e.method = method;
  e.samples = runs_of_a_figure;
  e.note = std::move(note);
  return e;
}

// A warp whose lanes take ever more different paths, beside one whose lanes all take as many, one after the other.
Expected<void> measure_paths(const Setting& setting, Result& result) {
  Plot plot{"Divergence", "paths", "cycles of a warp", false, {}};
  for (const bool divergent : {true, false}) {
    Series series{divergent ? "each lane takes one path" : "all lanes take all paths", {}};
    for (std::uint32_t ways = 1; ways <= program::warp_lanes; ways *= 2) {
      Workload w;
      w.label = w.kernel = "paths";
      w.threads = program::warp_lanes;
      w.numbers = {20};
      for (std::uint32_t lane = 0; lane < program::warp_lanes; ++lane)
        w.input.push_back(divergent ? 1U << (lane % ways) : ways == 32 ? ~0U : (1U << ways) - 1);
      const auto cost = setting.meter.measure(
          w, [&](const WorkloadTrace& t) { return static_cast<double>(t.cycles) / static_cast<double>(w.numbers[0]); });
      if (!cost) return tl::unexpected<Error>(cost.error());
      series.points.push_back(point_of(ways, *cost));
    }
    plot.series.push_back(std::move(series));
  }
  const double divergent = instruction_slope(plot.series[0]), uniform = instruction_slope(plot.series[1]);
  const std::string what =
      fmt::format("of {} dependent multiply-adds each, 32 tests for a path in every round", path_operations);
  result.findings.push_back(
      {"control", "cycles_a_divergent_path", plain(divergent, "cycles", "least squares over paths", what), {}, {}});
  result.findings.push_back(
      {"control", "cycles_a_uniform_path", plain(uniform, "cycles", "least squares over paths", what), {}, {}});
  result.findings.push_back(
      {"control",
       "divergence_and_reconvergence",
       plain(divergent - uniform, "cycles", "difference", "of a path more, beside the same path taken by all lanes"),
       {},
       {}});
  result.plots.push_back(std::move(plot));
  return {};
}

std::uint32_t step_of(const std::vector<std::uint32_t>& readings, std::size_t first) {
  std::uint32_t step = 0;
  for (std::size_t i = first + 1; i < first + readings.size() / 2; ++i)
    step = std::gcd(step, readings[i] - readings[i - 1]);
  return step;
}

Expected<void> measure_clocks(const Setting& setting, Result& result) {
  Workload w;
  w.label = w.kernel = "clocks";
  w.threads = program::warp_lanes;
  w.output_words = 512;
  w.timed = false;
  const auto trace = setting.meter.run(w);
  if (!trace) return tl::unexpected<Error>(trace.error());
  const char* method = "greatest common divisor of 255 steps";
  result.findings.push_back(
      {"control", "clock_resolution", plain(step_of(trace->output, 0), "cycles", method, "%clock64"), {}, {}});
  result.findings.push_back(
      {"control", "timer_resolution", plain(step_of(trace->output, 256), "ns", method, "%globaltimer"), {}, {}});
  return {};
}

}  // namespace

Expected<void> measure_instructions(const Setting& setting, Result& result) {
  const auto keep = [&](const Expected<void>& ok) -> bool {
    if (!ok && leaves_open(ok.error())) result.notes.push_back(ok.error().message);
    return ok || leaves_open(ok.error());
  };
  for (std::size_t i = 0; i < classes.size(); ++i) {
    setting.progress(static_cast<double>(i) / (classes.size() + 4));
    if (auto ok = measure_class(setting, classes[i], result); !keep(ok)) return ok;
  }
  for (const auto part : {plot_rate, measure_barriers, measure_paths, measure_clocks})
    if (auto ok = part(setting, result); !keep(ok)) return ok;
  return {};
}

}  // namespace gputopo::throughput
