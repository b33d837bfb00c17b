// What placing work near its lines of a two-sided L2 gains: the same chases and streams by every SM over lines of its
// own side, of the other one, and of any.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "change_point/robust.hpp"
#include "throughput/l2_lists.hpp"

namespace gputopo::throughput {
namespace {

using program::Workload;

constexpr std::uint64_t lines_of_a_chase = 512;  // of each SM: a thread's cold walk takes a quarter of a millisecond
constexpr std::uint64_t laps_of_a_chase = 8;
constexpr std::uint64_t sweeps_of_the_l2 = 4;  // that much more than it holds leaves nothing of what was there
constexpr std::uint32_t sweep_threads = 256;
constexpr std::uint32_t sweep_blocks_of_an_sm = 8;
constexpr const char* placement_method = "lines by home";

// A figure by whose lines it was taken of, in the order of line_kinds.
using ByKind = std::array<std::optional<Sample>, line_kinds.size()>;

struct Chase {
  const char *memory, *name, *kernel;
  bool cold;
};
constexpr std::array<Chase, 3> chases{{{"l2", "read", "l2_chase_read", false},
                                       {"l2", "atomic", "l2_chase_add", false},
                                       {"device_memory", "read", "l2_chase_read", true}}};

// How much more the far ones take (or deliver), by runs that may have fallen together in any way.
Estimate ratio_of(const Sample& above, const Sample& below) {
  Estimate e;
  e.value = above.median / below.median;
  e.status = Status::measured;
  e.method = placement_method;
  e.interval = Interval{above.range.low / below.range.high, above.range.high / below.range.low};
  e.interval_kind = "range";
  e.samples = above.runs + below.runs;
  return e;
}

class Placement {
 public:
  Placement(const Setting& setting, const Homes& homes, std::uint64_t buffer_bytes, Result& result)
      : setting_(setting), homes_(homes), buffer_bytes_(buffer_bytes), result_(result) {}

  Expected<void> chase(const Chase& chase) {
    ByKind taken;
    for (std::size_t i = 0; i < line_kinds.size(); ++i) {
      const auto& [whose, kind] = line_kinds[i];
      Workload w;
      w.kernel = chase.kernel;
      w.label = fmt::format("chase of {} lines{}", kind, chase.cold ? " in memory" : "");
      w.threads = program::warp_lanes;
      w.blocks = setting_.meter.info().gpu.sm_count;
      w.shared_bytes = room_of_list;
      w.buffer_bytes = {buffer_bytes_, 0, 0};
      w.input = lists_of(homes_, whose, chase_bytes());
      if (w.input.empty()) continue;
      w.numbers = {chase.cold ? 1 : laps_of_a_chase};
      auto sample = time_chase(w, chase.cold);
      if (!sample) return tl::unexpected<Error>(sample.error());
      taken[i] = *sample;
      result_.findings.push_back({chase.memory,
                                  fmt::format("{}_{}_latency", kind, chase.name),
                                  estimate_of(*sample, "cycles", placement_method),
                                  fmt::format("one thread an SM, {} {} lines each{}", w.input[1], kind,
                                              chase.cold ? ", in no cache" : ", in the L2"),
                                  {}});
    }
    add_gains(chase.memory, fmt::format("{}_latency", chase.name), taken, false);
    return {};
  }

  Expected<void> stream(bool writes) {
    const char* name = writes ? "write" : "read";
    ByKind rates;
    for (std::size_t i = 0; i < line_kinds.size(); ++i) {
      auto found = stream_lists(setting_, homes_, line_kinds[i], writes, buffer_bytes_);
      if (!found) return tl::unexpected<Error>(found.error());
      if (!*found) continue;
      rates[i] = (*found)->best;
      result_.findings.push_back({"l2",
                                  fmt::format("{}_{}_bandwidth", line_kinds[i].second, name),
                                  estimate_of((*found)->best, "B/s", placement_method),
                                  fmt::format("16 B, 8 in flight, {} threads an SM, {:.1f} MiB of {} lines",
                                              list_threads, (*found)->best_megabytes, line_kinds[i].second),
                                  {},
                                  {},
                                  std::move((*found)->by_bytes)});
    }
    add_gains("l2", fmt::format("{}_bandwidth", name), rates, true);
    return {};
  }

 private:
  // A quarter of the L2 at most, which it holds of near lines alone, too.
  std::uint64_t chase_bytes() const {
    const std::uint64_t sms = setting_.meter.info().gpu.sm_count;
    return std::min(sms * lines_of_a_chase * home_line_bytes, setting_.size_of("l2") / 4);
  }

  // Cycles a load, a mean over all SMs and their lines. A walk before brings the lines where they will be found.
  Expected<Sample> time_chase(const Workload& w, bool cold) {
    Workload sweep;
    sweep.kernel = sweep.label = "sweep";
    sweep.threads = sweep_threads;
    sweep.blocks = sweep_blocks_of_an_sm * setting_.meter.info().gpu.sm_count;
    sweep.buffer_bytes = w.buffer_bytes;
    const std::uint64_t lines_bytes = homes_.side_of_line.size() * home_line_bytes;
    sweep.numbers = {buffer_bytes_ - lines_bytes, lines_bytes};
    sweep.timed = false;
    const auto loads = static_cast<double>(w.numbers[0] * w.input[1]);
    std::vector<double> cycles;
    for (int i = 0; i <= runs_of_a_figure; ++i) {
      if (cold)
        if (auto swept = setting_.meter.run(sweep); !swept) return tl::unexpected<Error>(swept.error());
      const auto trace = setting_.meter.run(w);
      if (!trace) return tl::unexpected<Error>(trace.error());
      if (i != 0) cycles.push_back(static_cast<double>(trace->cycles) / loads);
    }
    const auto [low, high] = std::minmax_element(cycles.begin(), cycles.end());
    return Sample{change_point::median(cycles), {*low, *high}, cycles.size()};
  }

  // Near lines against far ones, and against any: what work gains that is moved to its data, and what work that was
  // placed without a thought.
  void add_gains(const char* memory, const std::string& of, const ByKind& by_kind, bool more_is_better) {
    const auto& [near, far, any] = by_kind;
    const auto add = [&, &near = near](const std::optional<Sample>& other, const char* over) {
      if (!near || !other) return;
      result_.findings.push_back({memory,
                                  fmt::format("{}_gain_over_{}", of, over),
                                  more_is_better ? ratio_of(*near, *other) : ratio_of(*other, *near),
                                  fmt::format("near lines against {} ones; 1: no gain", over),
                                  {}});
    };
    add(far, "far");
    add(any, "any");
  }

  const Setting& setting_;
  const Homes& homes_;
  std::uint64_t buffer_bytes_;
  Result& result_;
};

}  // namespace

Expected<void> measure_placement(const Setting& setting, Result& result) {
  const std::uint64_t l2 = setting.size_of("l2");
  const auto lines = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(program::most_workload_words - 1024, (l2 + l2 / 16) / home_line_bytes));
  if (lines == 0) return fail(Error::Kind::unavailable, "how large the L2 is isn't known");
  // One buffer for all of it: another one would have other homes.
  const std::uint64_t buffer_bytes = lines * home_line_bytes + sweeps_of_the_l2 * l2;
  const auto homes = find_homes(setting, lines, buffer_bytes);
  if (!homes) return tl::unexpected<Error>(homes.error());
  if (!*homes) {
    constexpr const char* why =
        "none: the SMs' latencies don't fall into two opposite patterns, so no line is known to be nearer to an SM "
        "than to others";
    Estimate open;
    open.method = placement_method;
    open.note = why;
    for (const char* of : {"read_latency_gain_over_far", "read_bandwidth_gain_over_far"})
      result.findings.push_back({"l2", of, open, "", {}});
    result.notes.emplace_back(why);
    return {};
  }
  const auto& h = **homes;
  result.notes.push_back(
      fmt::format("homes of {} lines by atomics: {} and {} SMs a side, least correlation {:.2f}, {} lines doubtful",
                  lines, std::count(h.side_of_sm.begin(), h.side_of_sm.end(), 0),
                  std::count(h.side_of_sm.begin(), h.side_of_sm.end(), 1), h.least_correlation, h.doubtful));
  Placement placement(setting, h, buffer_bytes, result);
  for (const Chase& chase : chases)
    if (auto ok = placement.chase(chase); !ok) return ok;
  setting.progress(0.4);
  for (const bool writes : {false, true})
    if (auto ok = placement.stream(writes); !ok) return ok;
  return {};
}

}  // namespace gputopo::throughput
