// Throughput against bytes in flight, and how many a level needs: Little's law by experiment.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "throughput/benchmarks.hpp"

namespace gputopo::throughput {
namespace {

using program::Path;
using program::Region;
using program::Stream;

constexpr double enough = 0.9;  // of the most that any number of bytes reaches
constexpr std::uint32_t most_warps_of_a_block = 32;

struct Level {
  const char* memory;
  Path path;
  Region region;
  std::uint64_t footprint;  // of an SM for Region::block, else of the grid
  double bytes;             // that a run moves
};

// Threads, width and unrolling that have so many bytes in flight on each SM, fine steps first.
struct FlightStep {
  std::uint32_t warps;
  std::uint32_t width;
  std::uint32_t unroll;
  std::uint64_t bytes() const { return std::uint64_t{warps} * program::warp_lanes * width * unroll; }
};

std::vector<FlightStep> steps_of(std::uint32_t most_warps) {
  std::vector<FlightStep> steps;
  const std::array<std::pair<std::uint32_t, std::uint32_t>, 6> kinds{
      {{4, 1}, {8, 1}, {16, 1}, {16, 2}, {16, 4}, {16, 8}}};
  for (const auto& [width, unroll] : kinds)
    for (std::uint32_t warps = 1; warps <= most_warps; warps += warps < most_warps_of_a_block ? 1 : 2) {
      const FlightStep step{warps, width, unroll};
      if (steps.empty() || step.bytes() > steps.back().bytes()) steps.push_back(step);
    }
  return steps;
}

class Curve {
 public:
  Curve(const Setting& setting, const Level& level) : setting_(setting), level_(level) {
    const std::uint64_t threads = setting.meter.info().gpu.limits.threads_per_sm;
    steps_ = steps_of(static_cast<std::uint32_t>(threads != 0 ? threads / program::warp_lanes : 64));
  }

  const std::vector<FlightStep>& steps() const { return steps_; }

  /// Whether one step of all threads isn't more than the level is to hold.
  bool fits(std::size_t step) const {
    const Stream s = stream(step);
    const std::uint64_t all = s.footprint_bytes * (s.region == Region::block ? s.blocks : 1);
    return all <= level_.footprint * (s.region == Region::block ? setting_.meter.info().gpu.sm_count : 1);
  }

  Expected<Sample> at(std::size_t step, Rate rate) { return setting_.meter.measure(stream(step), rate); }

  Stream stream(std::size_t i) const {
    const FlightStep& step = steps_[i];
    const std::uint32_t blocks = step.warps > most_warps_of_a_block ? 2 : 1;
    Stream s;
    s.label = fmt::format("{} in flight", level_.memory);
    s.path = level_.path;
    s.region = level_.region;
    s.access_bytes = step.width;
    s.items = s.unroll = step.unroll;
    s.threads = step.warps / blocks * program::warp_lanes;
    s.blocks = blocks * setting_.meter.info().gpu.sm_count;
    s = program::fitted(s, level_.region == Region::block ? level_.footprint / blocks : level_.footprint);
    // As little in flight as one warp's access moves an eightieth of what many do.
    const double share = std::min(1.0, static_cast<double>(step.bytes()) / 32768);
    s.laps = level_.bytes > 0 ? laps_for(s, level_.bytes * std::max(share, 0.02)) : 1;
    return s;
  }

 private:
  const Setting& setting_;
  Level level_;
  std::vector<FlightStep> steps_;
};

std::vector<Level> levels_of(const Setting& setting) {
  const device::DeviceInfo& info = setting.meter.info();
  std::vector<Level> levels;
  if (const std::uint64_t l1 = setting.size_of("l1"); l1 != 0)
    levels.push_back({"l1", Path::global_cached, Region::block, l1 / 2, 3e6 * info.gpu.sm_count});
  const std::uint64_t l2 = setting.size_of("l2");
  if (l2 != 0) levels.push_back({"l2", Path::global_l2_only, Region::grid, l2 / 2, 300e6});
  const std::uint64_t memory = std::min(std::max(std::uint64_t{256} << 20, 16 * l2), info.largest_buffer_bytes / 4);
  if (memory > 2 * l2) levels.push_back({"device_memory", Path::global_l2_only, Region::grid, memory, 0});
  return levels;
}

// Where the measured curve crosses `wanted`: between the last point below and the first one from there on.
double crossing(const Point& below, const Point& above, double wanted) {
  return below.x + (wanted - below.y) / (above.y - below.y) * (above.x - below.x);
}

struct Searched {
  std::vector<Point> points;  // ascending
  Point below, above;
  double most = 0;
};

// The curve at every doubling, then halved down to neighbouring steps where it crosses 90 % of its most.
Expected<std::optional<Searched>> search(Curve& curve, Rate rate, std::string& why) {
  Searched s;
  std::vector<std::size_t> places;
  std::uint64_t next = 0;
  for (std::size_t i = 0; i < curve.steps().size(); ++i) {
    const std::uint64_t bytes = curve.steps()[i].bytes();
    if (bytes < next || !curve.fits(i)) continue;
    const auto sample = curve.at(i, rate);
    if (!sample && !leaves_open(sample.error())) return tl::unexpected<Error>(sample.error());
    if (!sample) {
      why = sample.error().message;
      continue;
    }
    next = bytes + bytes / 3 + 1;
    places.push_back(i);
    s.points.push_back({static_cast<double>(bytes), sample->median, sample->range});
    s.most = std::max(s.most, sample->median);
  }
  const auto enough_at = [&](const Point& p) { return p.y >= enough * s.most; };
  const auto first = std::find_if(s.points.begin(), s.points.end(), enough_at);
  if (first == s.points.end() || first == s.points.begin()) return std::optional<Searched>{};
  std::size_t high = places[static_cast<std::size_t>(first - s.points.begin())];
  std::size_t low = places[static_cast<std::size_t>(first - s.points.begin()) - 1];
  s.above = *first;
  s.below = *(first - 1);
  while (high - low > 1) {
    const std::size_t middle = low + (high - low) / 2;
    const auto sample = curve.at(middle, rate);
    if (!sample) return tl::unexpected<Error>(sample.error());
    const Point p{static_cast<double>(curve.steps()[middle].bytes()), sample->median, sample->range};
    (enough_at(p) ? high : low) = middle;
    (enough_at(p) ? s.above : s.below) = p;
    s.points.push_back(p);
  }
  std::sort(s.points.begin(), s.points.end(), [](const Point& a, const Point& b) { return a.x < b.x; });
  return s;
}

void add_in_flight_findings(const Level& level, const Searched& s, Result& result) {
  Estimate needed;
  needed.unit = "B";
  needed.status = Status::measured;
  needed.method = "throughput by bytes in flight";
  needed.value = crossing(s.below, s.above, enough * s.most);
  needed.interval = Interval{s.below.x, s.above.x};
  needed.interval_kind = "range";
  needed.samples = s.points.size() * runs_of_a_figure;
  needed.note = "of one SM, for 90 % of the most that this benchmark saw";
  result.findings.push_back({level.memory, "bytes_in_flight_for_90_percent", needed, {}, {}});
  // Little's law where bytes in flight alone are scarce: the fewest of them.
  const Point& first = s.points.front();
  Estimate latency;
  latency.unit = "cycles";
  latency.status = Status::measured;
  latency.method = "Little's law";
  latency.value = first.x / first.y;
  latency.interval = Interval{first.x / first.range.high, first.x / first.range.low};
  latency.interval_kind = "range";
  latency.samples = runs_of_a_figure;
  latency.note = "with what the loop around the loads takes";
  result.findings.push_back(
      {level.memory, "latency_by_littles_law", latency, fmt::format("{:.0f} B in flight", first.x), {}});
}

}  // namespace

Expected<void> measure_in_flight(const Setting& setting, Result& result) {
  Plot plot{"Throughput by bytes in flight", "bytes in flight on an SM (B)", "B/cycle of an SM", true, {}};
  const auto levels = levels_of(setting);
  for (std::size_t i = 0; i < levels.size(); ++i) {
    setting.progress(static_cast<double>(i) / static_cast<double>(levels.size()));
    Curve curve(setting, levels[i]);
    std::string why = "the most was there with the fewest bytes in flight, or never";
    const auto searched = search(curve, Rate::bytes_per_sm_cycle, why);
    if (!searched) return tl::unexpected<Error>(searched.error());
    if (!*searched) {
      result.notes.push_back(fmt::format("{}: {}", levels[i].memory, why));
      continue;
    }
    add_in_flight_findings(levels[i], **searched, result);
    plot.series.push_back({levels[i].memory, (*searched)->points});
  }
  if (!plot.series.empty()) result.plots.push_back(std::move(plot));
  return {};
}

}  // namespace gputopo::throughput
