// Striped against direct access: where throughput breaks because a warp's access touches too many lines.
//
// After "vendor-independent" GPU benchmarks that run a kernel of n items a thread with either order. A direct thread
// has its items in a row, so an access of its warp touches n times the lines of a striped one. Both are measured with
// as much in flight, and their ratio is what the lines cost.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "change_point/robust.hpp"
#include "throughput/benchmarks.hpp"
#include "throughput/onset.hpp"

namespace gputopo::throughput {
namespace {

using program::Arrangement;
using program::Stream;

constexpr double requests_least_scatter = 0.003;  // a clock's changes
constexpr std::uint32_t most_items = 64;
constexpr std::uint32_t in_flight = 8;  // the same for all, so that only the lines differ
constexpr std::uint64_t memory_bytes = std::uint64_t{256} << 20;

// What is read, or written.
struct RequestKind {
  program::Operation operation;
  const char* doing;   // of plots
  const char* prefix;  // of quantities
  const char* asked;   // the cache whose lines count: the first that keeps what is moved
};
constexpr std::array<RequestKind, 2> requests_kinds{
    {{program::Operation::read, "reading", "", "l1"}, {program::Operation::write, "writing", "write_", "l2"}}};

Stream request_stream(const Setting& setting, const RequestKind& kind, std::uint32_t width, std::uint32_t items,
                      Arrangement arrangement) {
  const device::DeviceInfo& info = setting.meter.info();
  Stream s;
  s.operation = kind.operation;
  s.label = fmt::format("{} items of {} B, {}", items, width, program::to_string(arrangement));
  s.access_bytes = width;
  s.arrangement = arrangement;
  s.items = items;
  s.unroll = in_flight;
  s.threads = 256;
  s.blocks = 4 * info.gpu.sm_count;
  return program::fitted(s, std::min(std::max(memory_bytes, 4 * setting.size_of("l2")), info.largest_buffer_bytes / 4));
}

std::uint64_t lines_of(const Stream& s, std::uint64_t line_bytes) {
  std::set<std::uint64_t> lines;
  for (std::uint32_t lane = 0; lane < program::warp_lanes; ++lane)
    lines.insert(program::lane_offset(s, lane) / line_bytes);
  return lines.size();
}

struct Measured {
  std::uint32_t items;
  std::uint64_t lines;
  double cost;  // time of direct over that of striped
};

// Items up to where each lane has lines of its own, and a few beyond for the plot.
bool is_wanted(std::uint32_t items, std::uint32_t last) {
  return items <= last || items % 8 == 0;
}

Point in_gigabytes(std::uint32_t items, const Sample& s) {
  return {static_cast<double>(items), s.median / 1e9, {s.range.low / 1e9, s.range.high / 1e9}};
}

struct Swept {
  std::vector<Measured> all;
  double scatter = 0;  // of striped figures, as a share of them
};

// Striped accesses touch the same lines whatever the items: what they reach is one figure, the median of all.
Expected<Swept> sweep(const Setting& setting, const RequestKind& kind, std::uint32_t width, Plot& plot) {
  const std::uint64_t line = setting.line_bytes(kind.asked);
  const auto last = static_cast<std::uint32_t>(std::max<std::uint64_t>(2, line / width));
  Series striped{fmt::format("striped, {} bits", 8 * width), {}};
  Series direct{fmt::format("direct, {} bits", 8 * width), {}};
  Swept swept;
  std::vector<double> rates;
  for (std::uint32_t items = 1; items <= most_items; ++items) {
    if (!is_wanted(items, last)) continue;
    const auto s = setting.meter.measure(request_stream(setting, kind, width, items, Arrangement::striped),
                                         Rate::bytes_per_second);
    if (!s) return tl::unexpected<Error>(s.error());
    const Stream own = request_stream(setting, kind, width, items, Arrangement::direct);
    const auto d = setting.meter.measure(own, Rate::bytes_per_second);
    if (!d) return tl::unexpected<Error>(d.error());
    striped.points.push_back(in_gigabytes(items, *s));
    direct.points.push_back(in_gigabytes(items, *d));
    rates.push_back(s->median);
    if (items <= last) swept.all.push_back({items, lines_of(own, line), 1 / d->median});
  }
  const double full = change_point::median(rates);
  for (Measured& m : swept.all) m.cost *= full;
  for (double& r : rates) r = std::fabs(r / full - 1);
  swept.scatter = std::max(requests_least_scatter, change_point::median(rates));
  plot.series.push_back(std::move(striped));
  plot.series.push_back(std::move(direct));
  return swept;
}

Estimate threshold(double value, std::string_view unit, std::uint64_t samples) {
  Estimate e;
  e.value = value;
  e.unit = unit;
  e.status = Status::measured;
  e.method = "change in slope of striped over direct";
  e.samples = samples;
  return e;
}

// By the lines that an access touches, of which items only take more now and then where lines are long: the most items
// that touch as many, and the mean of what all of those cost.
std::vector<Measured> by_lines(const std::vector<Measured>& all) {
  std::vector<Measured> groups;
  double members = 0;
  for (const Measured& m : all) {
    if (groups.empty() || groups.back().lines != m.lines) {
      groups.push_back(m);
      members = 1;
      continue;
    }
    Measured& group = groups.back();
    group.items = m.items;
    group.cost += (m.cost - group.cost) / ++members;
  }
  return groups;
}

void add_request_findings(const RequestKind& kind, std::uint32_t width, const Swept& swept, std::uint64_t line,
                          Result& result) {
  const std::vector<Measured> all = by_lines(swept.all);
  const std::uint64_t samples = swept.all.size() * 2 * runs_of_a_figure;
  std::vector<Cost> costs;
  for (const Measured& m : all) costs.push_back({static_cast<double>(m.lines), m.cost});
  // A whole number of lines is free. Some numbers of items (powers of two) meet in few sets.
  const auto step = all.size() < 2 ? 1 : static_cast<int>(all[1].lines - all[0].lines);
  const auto last = find_onset(costs, swept.scatter, step);
  const std::size_t at = last ? last->at : all.size() - 1;
  Estimate items = threshold(all[at].items, "", samples);
  Estimate lines = threshold(static_cast<double>(all[at].lines), "", samples);
  if (last) {
    items.interval = Interval{static_cast<double>(all[last->low].items), static_cast<double>(all[last->high].items)};
    lines.interval = Interval{static_cast<double>(all[last->low].lines), static_cast<double>(all[last->high].lines)};
    items.interval_kind = lines.interval_kind = "range";
  } else {
    items.status = lines.status = Status::lower_bound;
  }
  const std::uint64_t needed = program::warp_lanes * width / line;
  lines.note = fmt::format("of {} B touched by one access of a warp, {} of which its bytes need", line,
                           std::max<std::uint64_t>(1, needed));
  const std::string bits = fmt::format("_of_{}_bits", 8 * width);
  result.findings.push_back({"requests", kind.prefix + ("items_at_full_rate" + bits), items, {}, {}});
  result.findings.push_back({"requests", kind.prefix + ("lines_at_full_rate" + bits), lines, {}, {}});
}

}  // namespace

Expected<void> measure_requests(const Setting& setting, Result& result) {
  double done = 0;
  for (const RequestKind& kind : requests_kinds) {
    Plot plot{fmt::format("Striped and direct {}", kind.doing), "items a thread", "GB/s", false, {}};
    for (const std::uint32_t width : {4U, 8U, 16U}) {
      setting.progress(done++ / 6);
      const auto all = sweep(setting, kind, width, plot);
      if (!all && !leaves_open(all.error())) return tl::unexpected<Error>(all.error());
      if (!all) {
        result.notes.push_back(all.error().message);
        continue;
      }
      add_request_findings(kind, width, *all, setting.line_bytes(kind.asked), result);
    }
    if (!plot.series.empty()) result.plots.push_back(std::move(plot));
  }
  return {};
}

}  // namespace gputopo::throughput
