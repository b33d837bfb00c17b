// Shared memory's banks: how many, how wide, and what it costs when a warp's lanes want several words of one.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "throughput/benchmarks.hpp"

namespace gputopo::throughput {
namespace {

using program::Operation;
using program::Stream;

constexpr double cycles_of_a_run = 50e3;
constexpr std::uint32_t banks_threads = 1024;
constexpr std::uint32_t unroll = 8;

Stream lanes(const device::DeviceInfo& info, std::uint32_t group, std::uint64_t lane_stride, std::uint64_t group_stride,
             std::uint32_t width = 4) {
  Stream s;
  s.label = "banks";
  s.path = program::Path::shared;
  s.region = program::Region::block;
  s.arrangement = program::Arrangement::fixed;
  s.access_bytes = width;
  s.lane_group = group;
  s.lane_stride_bytes = group == 1 ? 0 : lane_stride;
  s.group_stride_bytes = group == program::warp_lanes ? 0 : group_stride;
  s.items = s.unroll = unroll;
  s.threads = banks_threads;
  s.blocks = info.gpu.sm_count;
  s.carve_out_percent = 100;
  std::uint64_t last = 0;
  for (std::uint32_t lane = 0; lane < program::warp_lanes; ++lane) last = std::max(last, program::lane_offset(s, lane));
  s.footprint_bytes = last / 16 * 16 + 16;
  // At least a cycle each: long enough whatever a conflict costs.
  s.laps = static_cast<std::uint32_t>(cycles_of_a_run / (banks_threads / program::warp_lanes * unroll));
  return s;
}

struct BankRow {
  std::uint64_t bytes = 0;  // 0: not found
  double free_cycles = 0;   // of an access whose lanes lie side by side
};

// The step at which all lanes want one bank: the least stride whose cost no longer grows.
Expected<BankRow> find_row(Meter& meter) {
  std::vector<std::pair<std::uint64_t, double>> costs;
  for (std::uint64_t stride = 4;; stride *= 2) {
    const Stream s = lanes(meter.info(), program::warp_lanes, stride, 0);
    if (s.footprint_bytes > meter.info().shared_bytes_per_block) break;
    const auto cost = meter.measure(s, Rate::cycles_per_access);
    if (!cost) return tl::unexpected<Error>(cost.error());
    costs.emplace_back(stride, cost->median);
  }
  if (costs.size() < 2) return BankRow{};
  constexpr double same = 0.98;
  const double most = costs.back().second;
  if (costs.front().second > same * most) return BankRow{};  // conflicts cost nothing
  const auto first = std::find_if(costs.begin(), costs.end(), [&](const auto& c) { return c.second > same * most; });
  return first + 1 == costs.end() ? BankRow{} : BankRow{first->first, costs.front().second};
}

// Two words of one bank take turns, two banks don't: the least offset that makes every other lane's turn free. Accesses
// are as narrow as the offset, so that they lie in one word.
Expected<std::uint64_t> find_word(Meter& meter, const BankRow& found) {
  const std::uint64_t row = found.bytes;
  constexpr double fewer = 0.75;  // half of the turns are left
  double same = 0, free = 0;      // cycles of an access of one width
  std::uint32_t of_width = 0;
  const auto cost_of = [&](std::uint32_t group, std::uint64_t lane_stride, std::uint64_t group_stride,
                           std::uint32_t width, double& cycles) -> Expected<void> {
    const auto cost =
        meter.measure(lanes(meter.info(), group, lane_stride, group_stride, width), Rate::cycles_per_access);
    if (!cost) return tl::unexpected<Error>(cost.error());
    cycles = cost->median;
    return {};
  };
  for (std::uint64_t offset = 1; offset < row; offset *= 2) {
    const std::uint32_t width = offset < 4 ? 1 : 4;
    if (width != of_width) {
      if (auto ok = cost_of(2, row, 2 * row, width, same); !ok) return tl::unexpected<Error>(ok.error());
      if (auto ok = cost_of(program::warp_lanes, width, 0, width, free); !ok) return tl::unexpected<Error>(ok.error());
      of_width = width;
    }
    double cost = 0;
    if (auto ok = cost_of(2, row + offset, 2 * row, width, cost); !ok) return tl::unexpected<Error>(ok.error());
    if (cost - free < fewer * (same - free)) return offset;
  }
  return std::uint64_t{0};
}

Estimate count(double value, std::string_view unit, std::string_view method) {
  Estimate e;
  e.value = value;
  e.unit = unit;
  e.status = Status::measured;
  e.method = method;
  e.samples = runs_of_a_figure;
  return e;
}

// The slope of cost over ways by least squares, and twice its standard error. With few banks a warp's bytes take
// several turns anyway, so the first ways are free and are left out, and those whose lanes' banks fill more than a row.
Estimate conflict_slope(const Series& series, std::uint64_t banks_in_row) {
  const double first_ways = std::max(4.0, program::warp_lanes / static_cast<double>(banks_in_row));
  double n = 0, mx = 0, my = 0;
  for (const Point& p : series.points)
    if (p.x >= first_ways) ++n, mx += p.x, my += p.y;
  mx /= n, my /= n;
  double xx = 0, xy = 0, rest = 0;
  for (const Point& p : series.points)
    if (p.x >= first_ways) xx += (p.x - mx) * (p.x - mx), xy += (p.x - mx) * (p.y - my);
  const double slope = xy / xx;
  for (const Point& p : series.points)
    if (p.x >= first_ways) rest += std::pow(p.y - my - slope * (p.x - mx), 2);
  const double error = 2 * std::sqrt(rest / (n - 2) / xx);
  Estimate e = count(slope, "cycles", "least squares over ways");
  e.interval = Interval{slope - error, slope + error};
  e.samples = series.points.size() * runs_of_a_figure;
  return e;
}

Expected<void> cost_of_ways(const Setting& setting, const Banks& banks, Operation operation, Plot& plot,
                            Result& result) {
  Series series{std::string(program::to_string(operation)), {}};
  const std::uint64_t next_bank = std::max<std::uint64_t>(banks.word_bytes, 4);
  for (std::uint32_t ways = 1; ways <= program::warp_lanes; ++ways) {
    Stream s = lanes(setting.meter.info(), ways, banks.row_bytes, next_bank);
    s.operation = operation;
    const auto cost = setting.meter.measure(s, Rate::cycles_per_access);
    if (!cost && !leaves_open(cost.error())) return tl::unexpected<Error>(cost.error());
    if (!cost) {
      result.notes.push_back(cost.error().message);
      return {};
    }
    series.points.push_back({static_cast<double>(ways), cost->median, cost->range});
    setting.progress(ways / static_cast<double>(program::warp_lanes) / 2);
  }
  const std::string what(program::to_string(operation));
  result.findings.push_back({"shared",
                             what + "_conflict_cost",
                             conflict_slope(series, banks.row_bytes / next_bank),
                             "4 B, 1024 threads an SM",
                             {}});
  plot.series.push_back(std::move(series));
  return {};
}

}  // namespace

Expected<std::optional<Banks>> find_banks(Meter& meter) {
  const auto row = find_row(meter);
  if (!row) return tl::unexpected<Error>(row.error());
  if (row->bytes == 0) return std::optional<Banks>{};
  const auto word = find_word(meter, *row);
  if (!word) return tl::unexpected<Error>(word.error());
  if (*word == 0) return std::optional<Banks>{};
  return Banks{row->bytes, *word};
}

Expected<void> measure_banks(const Setting& setting, Result& result) {
  if (setting.meter.info().shared_bytes_per_block == 0) {
    result.notes.push_back("this GPU has no shared memory");
    return {};
  }
  const auto banks = find_banks(setting.meter);
  if (!banks) return tl::unexpected<Error>(banks.error());
  if (!*banks) {
    Estimate open;
    open.unit = "B";
    open.method = "conflicts by stride";
    open.note = "no stride costs more than another";
    result.findings.push_back({"shared", "bank_width", open, {}, {}});
    return {};
  }
  const Banks& b = **banks;
  const auto number = static_cast<double>(b.row_bytes / b.word_bytes);
  result.findings.push_back({"shared", "banks", count(number, "", "conflicts by stride"), {}, {}});
  result.findings.push_back(
      {"shared", "bank_width", count(static_cast<double>(b.word_bytes), "B", "conflicts by offset"), {}, {}});
  Plot plot{"Bank conflicts", "ways", "cycles an access of a warp", false, {}};
  for (const Operation operation : {Operation::read, Operation::write})
    if (auto ok = cost_of_ways(setting, b, operation, plot, result); !ok) return ok;
  if (!plot.series.empty()) result.plots.push_back(std::move(plot));
  return {};
}

}  // namespace gputopo::throughput
