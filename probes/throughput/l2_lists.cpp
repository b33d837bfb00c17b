#include "throughput/l2_lists.hpp"

#include <fmt/format.h>

namespace gputopo::throughput {
namespace {

using program::Workload;
using program::WorkloadTrace;

constexpr std::uint32_t lines_of_a_warp = 32;  // all in flight
constexpr double bytes_of_a_run = 3e9;

}  // namespace

std::vector<std::uint32_t> lists_of(const Homes& homes, Whose whose, std::uint64_t bytes) {
  const std::size_t sms = homes.side_of_sm.size();
  const std::size_t each = bytes / home_line_bytes / sms / lines_of_a_warp * lines_of_a_warp;
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
  if (std::uint64_t{4} * each > room_of_list) return {};
  return input;
}

Expected<std::optional<ListRates>> stream_lists(const Setting& setting, const Homes& homes,
                                                const std::pair<Whose, const char*>& kind, bool writes,
                                                std::uint64_t buffer_bytes) {
  const std::uint32_t sms = setting.meter.info().gpu.sm_count;
  const std::uint64_t l2 = setting.size_of("l2");
  ListRates rates;
  rates.by_bytes.what = "footprint";
  for (std::uint64_t bytes = l2 / 4; bytes <= l2 * 15 / 16; bytes += l2 / 8) {
    Workload w;
    w.kernel = writes ? "l2_write" : "l2_read";
    w.label = fmt::format("{} lines of the L2", kind.second);
    w.threads = list_threads;
    w.blocks = sms;
    w.shared_bytes = room_of_list;
    w.buffer_bytes = {buffer_bytes, 0, 0};
    w.input = lists_of(homes, kind.first, bytes);
    if (w.input.empty()) continue;
    const double moved = static_cast<double>((w.input.size() - std::size_t{2} * sms) * home_line_bytes);
    w.numbers = {static_cast<std::uint64_t>(bytes_of_a_run / moved) + 1};
    // The first walk brings lines where they will be found.
    const auto rate = setting.meter.measure(w, [&](const WorkloadTrace& t) {
      return moved * static_cast<double>(w.numbers[0]) / static_cast<double>(t.ns) * 1e9;
    });
    if (!rate) return tl::unexpected<Error>(rate.error());
    rates.points.push_back({moved / 0x1p20, rate->median / 1e9, {rate->range.low / 1e9, rate->range.high / 1e9}});
    rates.by_bytes.points.emplace_back(moved, rate->median);
    if (rates.points.size() > 1 && rate->median <= rates.best.median) continue;
    rates.best = *rate;
    rates.best_megabytes = moved / 0x1p20;
  }
  if (rates.points.empty()) return std::optional<ListRates>();
  return std::optional(std::move(rates));
}

}  // namespace gputopo::throughput
