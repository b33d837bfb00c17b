// What the sides of a two-sided L2 deliver: lines whose home is an SM's own side, the other one, or any.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "throughput/benchmarks.hpp"
#include "throughput/l2_homes.hpp"

namespace gputopo::throughput {
namespace {

using program::Workload;
using program::WorkloadTrace;

constexpr std::uint32_t sides_threads = 1024;
constexpr std::uint32_t lines_at_once = 32;  // of a warp, all in flight
constexpr std::uint64_t room_of_list = std::uint64_t{120} << 10U;
constexpr double bytes_of_a_run = 3e9;

enum class Whose { near, far, any };
constexpr std::array<std::pair<Whose, const char*>, 3> sides_kinds{
    {{Whose::near, "near"}, {Whose::far, "far"}, {Whose::any, "any"}}};

// Each SM's own lines, of as many as make `bytes` together; nothing where there aren't so many of that kind.
std::vector<std::uint32_t> lists_of(const Homes& homes, Whose whose, std::uint64_t bytes) {
  const std::size_t sms = homes.side_of_sm.size();
  const std::size_t each = bytes / home_line_bytes / sms / lines_at_once * lines_at_once;
  std::array<std::vector<std::uint32_t>, 2> of_side;
  for (std::uint32_t line = 0; line < homes.side_of_line.size(); ++line)
    of_side[homes.side_of_line[line]].push_back(line);
  std::array<std::size_t, 2> taken{};
  std::size_t any = 0;
  std::vector<std::uint32_t> input(2 * sms);
  for (std::size_t sm = 0; sm < sms; ++sm) {
    input[2 * sm] = static_cast<std::uint32_t>(input.size());
    input[2 * sm + 1] = static_cast<std::uint32_t>(each);
    const std::size_t side = whose == Whose::near ? homes.side_of_sm[sm] : 1 - homes.side_of_sm[sm];
    for (std::size_t i = 0; i < each; ++i) {
      const bool is_there = whose == Whose::any ? any < homes.side_of_line.size() : taken[side] < of_side[side].size();
      if (!is_there) return {};
      input.push_back(whose == Whose::any ? static_cast<std::uint32_t>(any++) : of_side[side][taken[side]++]);
    }
  }
  return input;
}

struct Best {
  Sample sample;
  double megabytes = 0;
};

Expected<void> measure_operation(const Setting& setting, const Homes& homes, bool writes, std::uint64_t l2,
                                 Result& result) {
  const std::uint32_t sms = setting.meter.info().gpu.sm_count;
  Plot plot{writes ? "Writing to the L2's sides" : "Reading from the L2's sides", "footprint (MiB)", "GB/s", false, {}};
  for (const auto& [whose, name] : sides_kinds) {
    Series series{name, {}};
    std::optional<Best> best;
    ByBytes by_bytes{"footprint", {}};
    for (std::uint64_t bytes = l2 / 4; bytes <= l2 * 15 / 16; bytes += l2 / 8) {
      Workload w;
      w.kernel = writes ? "l2_write" : "l2_read";
      w.label = fmt::format("{} lines of the L2", name);
      w.threads = sides_threads;
      w.blocks = sms;
      w.shared_bytes = room_of_list;
      w.buffer_bytes = {homes.side_of_line.size() * home_line_bytes, 0, 0};
      w.input = lists_of(homes, whose, bytes);
      if (w.input.empty() || std::uint64_t{4} * w.input[1] > room_of_list) continue;
      const double moved = static_cast<double>((w.input.size() - std::size_t{2} * sms) * home_line_bytes);
      w.numbers = {static_cast<std::uint64_t>(bytes_of_a_run / moved) + 1};
      // The first walk brings lines where they will be found.
      const auto rate = setting.meter.measure(w, [&](const WorkloadTrace& t) {
        return moved * static_cast<double>(w.numbers[0]) / static_cast<double>(t.ns) * 1e9;
      });
      if (!rate) return tl::unexpected<Error>(rate.error());
      series.points.push_back({moved / 0x1p20, rate->median / 1e9, {rate->range.low / 1e9, rate->range.high / 1e9}});
      by_bytes.points.emplace_back(moved, rate->median);
      if (!best || rate->median > best->sample.median) best = Best{*rate, moved / 0x1p20};
    }
    if (!best) continue;
    result.findings.push_back({"l2",
                               fmt::format("{}_{}_bandwidth", name, writes ? "write" : "read"),
                               estimate_of(best->sample, "B/s", "lines by home"),
                               fmt::format("16 B, 8 in flight, {} threads an SM, {:.1f} MiB of {} lines", sides_threads,
                                           best->megabytes, name),
                               {},
                               {},
                               std::move(by_bytes)});
    plot.series.push_back(std::move(series));
  }
  result.plots.push_back(std::move(plot));
  return {};
}

}  // namespace

Expected<void> measure_sides(const Setting& setting, Result& result) {
  const std::uint64_t l2 = setting.size_of("l2");
  // A side's half of the lines and a little more: homes come in no order.
  const auto lines = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(program::most_workload_words - 1024, (l2 + l2 / 16) / home_line_bytes));
  if (lines == 0) return fail(Error::Kind::unavailable, "how large the L2 is isn't known");
  const auto homes = find_homes(setting, lines, std::uint64_t{lines} * home_line_bytes);
  if (!homes) return tl::unexpected<Error>(homes.error());
  if (!*homes)
    return fail(Error::Kind::unavailable,
                "the SMs' latencies don't fall into two opposite patterns: the L2 has one side");
  setting.progress(0.2);
  const auto& h = **homes;
  result.notes.push_back(
      fmt::format("homes of {} lines by atomics: {} and {} SMs a side, least correlation {:.2f}, {} lines doubtful",
                  lines, std::count(h.side_of_sm.begin(), h.side_of_sm.end(), 0),
                  std::count(h.side_of_sm.begin(), h.side_of_sm.end(), 1), h.least_correlation, h.doubtful));
  if (auto ok = measure_operation(setting, h, false, l2, result); !ok) return ok;
  setting.progress(0.6);
  return measure_operation(setting, h, true, l2, result);
}

}  // namespace gputopo::throughput
