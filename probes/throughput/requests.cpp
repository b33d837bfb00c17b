// Striped against direct access: where throughput breaks because a warp's access touches too many lines.
//
// After "vendor-independent" GPU benchmarks that run a kernel of n items a thread with either order. A direct thread
// has its items in a row, so an access of its warp touches n times the lines of a striped one. Both are measured with
// as much in flight, and their ratio is what the lines cost.
#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "change_point/split.hpp"
#include "throughput/benchmarks.hpp"

namespace gputopo::throughput {
namespace {

using program::Arrangement;
using program::Stream;

constexpr std::uint32_t most_items = 64;
constexpr std::uint64_t memory_bytes = std::uint64_t{256} << 20;

// What is read, or written.
struct Kind {
  program::Operation operation;
  const char* doing;   // of plots
  const char* prefix;  // of quantities
};
constexpr std::array<Kind, 2> kinds{
    {{program::Operation::read, "reading", ""}, {program::Operation::write, "writing", "write_"}}};

Stream stream_of(const Setting& setting, const Kind& kind, std::uint32_t width, std::uint32_t items,
                 Arrangement arrangement) {
  const device::DeviceInfo& info = setting.meter.info();
  Stream s;
  s.operation = kind.operation;
  s.label = fmt::format("{} items of {} B, {}", items, width, program::to_string(arrangement));
  s.access_bytes = width;
  s.arrangement = arrangement;
  s.items = items;
  for (const std::uint32_t unroll : {2U, 4U, 8U})
    if (items % unroll == 0) s.unroll = unroll;
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

Expected<std::vector<Measured>> sweep(const Setting& setting, const Kind& kind, std::uint32_t width, Plot& plot) {
  const std::uint64_t line = setting.line_bytes();
  const auto last = static_cast<std::uint32_t>(std::max<std::uint64_t>(2, line / width));
  Series striped{fmt::format("striped, {} bits", 8 * width), {}};
  Series direct{fmt::format("direct, {} bits", 8 * width), {}};
  std::vector<Measured> all;
  for (std::uint32_t items = 1; items <= most_items; ++items) {
    if (!is_wanted(items, last)) continue;
    const auto s =
        setting.meter.measure(stream_of(setting, kind, width, items, Arrangement::striped), Rate::bytes_per_second);
    if (!s) return tl::unexpected<Error>(s.error());
    const Stream own = stream_of(setting, kind, width, items, Arrangement::direct);
    const auto d = setting.meter.measure(own, Rate::bytes_per_second);
    if (!d) return tl::unexpected<Error>(d.error());
    striped.points.push_back({static_cast<double>(items), s->median / 1e9, {s->range.low / 1e9, s->range.high / 1e9}});
    direct.points.push_back({static_cast<double>(items), d->median / 1e9, {d->range.low / 1e9, d->range.high / 1e9}});
    if (items <= last) all.push_back({items, lines_of(own, line), s->median / d->median});
  }
  plot.series.push_back(std::move(striped));
  plot.series.push_back(std::move(direct));
  return all;
}

// The last number of items at full rate. Beyond it every line costs the same again, so the cost's steps jump from none
// to some: a change in mean, which the best split finds. Nothing where lines never cost anything.
std::optional<std::size_t> last_at_full_rate(const std::vector<Measured>& all) {
  constexpr double noticeable = 1.02;
  if (all.size() < 3 || all.back().cost < noticeable) return std::nullopt;
  std::vector<double> steps;
  for (std::size_t i = 1; i < all.size(); ++i) steps.push_back(all[i].cost - all[i - 1].cost);
  const auto split = change_point::best_split(change_point::SegmentCost(steps, change_point::Cost::l2));
  if (!split) return std::nullopt;
  // Where the steps before the split cost as much as those after it, nothing but one item is at full rate.
  const double before = (all[split->first_after].cost - all.front().cost) / static_cast<double>(split->first_after);
  const double after =
      (all.back().cost - all[split->first_after].cost) / static_cast<double>(steps.size() - split->first_after);
  return before > after / 2 ? 0 : split->first_after;
}

Estimate threshold(double value, std::string_view unit, std::uint64_t samples) {
  Estimate e;
  e.value = value;
  e.unit = unit;
  e.status = Status::measured;
  e.method = "change point of striped over direct";
  e.samples = samples;
  return e;
}

void add_findings(const Kind& kind, std::uint32_t width, const std::vector<Measured>& all, std::uint64_t line,
                  Result& result) {
  const std::uint64_t samples = all.size() * 2 * runs_of_a_figure;
  const auto last = last_at_full_rate(all);
  const std::size_t at = last.value_or(all.size() - 1);
  Estimate items = threshold(all[at].items, "", samples);
  Estimate lines = threshold(static_cast<double>(all[at].lines), "", samples);
  if (!last) items.status = lines.status = Status::lower_bound;
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
  for (const Kind& kind : kinds) {
    Plot plot{fmt::format("Striped and direct {}", kind.doing), "items a thread", "GB/s", false, {}};
    for (const std::uint32_t width : {4U, 8U, 16U}) {
      setting.progress(done++ / 6);
      const auto all = sweep(setting, kind, width, plot);
      if (!all && !leaves_open(all.error())) return tl::unexpected<Error>(all.error());
      if (!all) {
        result.notes.push_back(all.error().message);
        continue;
      }
      add_findings(kind, width, *all, setting.line_bytes(), result);
    }
    if (!plot.series.empty()) result.plots.push_back(std::move(plot));
  }
  return {};
}

}  // namespace gputopo::throughput
