#include "throughput/l2_homes.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "change_point/robust.hpp"

namespace gputopo::throughput {
namespace {

using program::Workload;

constexpr std::uint32_t sampled_lines = 512;
constexpr std::uint64_t l2_homes_turns = 5;
constexpr double opposite = 0.5;  // of the correlation; sides gave 0.95, distance alone less than 0.3
constexpr std::uint64_t l2_homes_alone_bytes = std::uint64_t{120} << 10U;

Workload l2_homes_base(const Setting& setting, const char* kernel, std::uint64_t buffer_bytes) {
  Workload w;
  w.label = w.kernel = kernel;
  w.threads = program::warp_lanes;
  w.blocks = setting.meter.info().gpu.sm_count;
  w.shared_bytes = l2_homes_alone_bytes;
  w.buffer_bytes = {buffer_bytes, 0, 0};
  w.timed = false;
  return w;
}

double correlation(const std::uint32_t* a, const std::uint32_t* b) {
  double ma = 0, mb = 0, ab = 0, aa = 0, bb = 0;
  for (std::uint32_t i = 0; i < sampled_lines; ++i) ma += a[i], mb += b[i];
  ma /= sampled_lines, mb /= sampled_lines;
  for (std::uint32_t i = 0; i < sampled_lines; ++i) {
    const double x = a[i] - ma, y = b[i] - mb;
    ab += x * y, aa += x * x, bb += y * y;
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

}  // namespace

Expected<std::optional<Homes>> find_homes(const Setting& setting, std::uint32_t lines, std::uint64_t buffer_bytes) {
  const std::uint32_t sms = setting.meter.info().gpu.sm_count;
  Workload same = l2_homes_base(setting, "l2_times", buffer_bytes);
  same.numbers = {sampled_lines, l2_homes_turns};
  same.output_words = sms * sampled_lines;
  const auto times = setting.meter.run(same);
  if (!times) return tl::unexpected<Error>(times.error());
  Homes homes;
  homes.side_of_sm.resize(sms);
  homes.least_correlation = 1;
  for (std::uint32_t sm = 0; sm < sms; ++sm) {
    const double c = correlation(times->output.data(), times->output.data() + std::size_t{sm} * sampled_lines);
    homes.side_of_sm[sm] = c < 0 ? 1 : 0;
    homes.least_correlation = std::min(homes.least_correlation, std::fabs(c));
  }
  const bool two = std::count(homes.side_of_sm.begin(), homes.side_of_sm.end(), 1) != 0;
  if (!two || homes.least_correlation < opposite) return std::optional<Homes>{};

  Workload all = l2_homes_base(setting, "l2_homes", buffer_bytes);
  all.numbers = {lines, l2_homes_turns};
  all.output_words = lines;
  std::array<std::uint32_t, 2> members{};
  std::vector<std::uint32_t> places;
  for (const std::uint8_t side : homes.side_of_sm) places.push_back(members[side]++);
  for (std::uint32_t sm = 0; sm < sms; ++sm)
    all.input.insert(all.input.end(), {homes.side_of_sm[sm], places[sm], members[homes.side_of_sm[sm]]});
  const auto halves = setting.meter.run(all);
  if (!halves) return tl::unexpected<Error>(halves.error());
  std::vector<double> differences;
  for (const std::uint32_t both : halves->output) {
    const double difference = static_cast<double>(both & 0xffffU) - static_cast<double>(both >> 16U);
    homes.side_of_line.push_back(difference > 0 ? 1 : 0);
    differences.push_back(std::fabs(difference));
  }
  const double usual = change_point::median(differences);
  homes.doubtful = static_cast<std::uint64_t>(
      std::count_if(differences.begin(), differences.end(), [&](double d) { return d < usual / 2; }));
  return homes;
}

}  // namespace gputopo::throughput
