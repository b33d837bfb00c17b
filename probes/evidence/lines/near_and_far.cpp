#include "evidence/lines/near_and_far.hpp"

#include <algorithm>
#include <numeric>

#include "evidence/inference/levels.hpp"

namespace gputopo::evidence {

TwoKinds two_kinds(std::vector<double> latencies) {
  std::sort(latencies.begin(), latencies.end());
  const double all = std::accumulate(latencies.begin(), latencies.end(), 0.0);
  const auto n = static_cast<double>(latencies.size());
  TwoKinds best;
  double most = -1, below = 0;
  for (std::size_t i = 1; i < latencies.size(); ++i) {
    below += latencies[i - 1];
    const auto k = static_cast<double>(i);
    const double near = below / k, far = (all - below) / (n - k);
    const double between = k * (n - k) * (far - near) * (far - near);
    if (between <= most) continue;
    most = between;
    best = {(latencies[i - 1] + latencies[i]) / 2, near, far, 1};
  }
  const double quarter = (best.far - best.near) / 4;
  best.share_between =
      static_cast<double>(std::count_if(latencies.begin(), latencies.end(),
                                        [&](double x) { return x > best.near + quarter && x < best.far - quarter; })) /
      n;
  return best;
}

double end_of_near_lines(std::vector<double> lines) {
  constexpr std::size_t surely_near = 16;  // a quarter of the quarter that is: chance leaves fewer of them near
  if (lines.empty()) return 0;
  const auto nearest = lines.begin() + static_cast<std::ptrdiff_t>(lines.size() / surely_near);
  std::nth_element(lines.begin(), nearest, lines.end());
  return half_a_level * *nearest;
}

Estimate of_near_lines(Estimate near, const Estimate& mean) {
  if (near.status != Status::measured || !near.interval || !is_usable(mean)) return near;
  const Interval of_all = mean.interval.value_or(Interval{*mean.value, *mean.value});
  near.interval = Interval{std::min(near.interval->low, of_all.low), std::max(near.interval->high, of_all.high)};
  near.note = "of near lines: whether those that take longer are on another side isn't known";
  return near;
}

std::vector<std::uint32_t> spread_sms(std::uint32_t count, std::size_t most) {
  std::vector<std::uint32_t> sms;
  const std::size_t n = std::min<std::size_t>(most, count);
  for (std::size_t i = 0; i < n; ++i)
    sms.push_back(static_cast<std::uint32_t>((i * count / n + (count > most ? i % 4 : 0)) % count));
  std::sort(sms.begin(), sms.end());
  sms.erase(std::unique(sms.begin(), sms.end()), sms.end());
  return sms;
}

}  // namespace gputopo::evidence
