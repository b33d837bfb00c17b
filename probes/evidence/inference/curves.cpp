#include "evidence/inference/curves.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace gputopo::evidence {
namespace {

// A step of one in 200: a row of pixels in a plot of 200. Of many small ones the upper ends alone look the same.
constexpr double least_drawn = 0.005;
constexpr std::size_t many_steps = 48;

Series steps(std::string label, const std::map<double, std::uint64_t>& counts) {
  Series series{std::move(label), {}};
  double all = 0, so_far = 0, drawn = 0;
  for (const auto& [x, count] : counts) all += static_cast<double>(count);
  for (auto it = counts.begin(); it != counts.end(); ++it) {
    so_far += static_cast<double>(it->second);
    const double share = so_far / all;
    const bool is_end = it == counts.begin() || std::next(it) == counts.end();
    if (!is_end && share - drawn < least_drawn) continue;
    if (counts.size() < many_steps || it == counts.begin()) series.points.emplace_back(it->first, drawn);
    series.points.emplace_back(it->first, share);
    drawn = share;
  }
  return series;
}

std::string capital(std::string_view text) {
  std::string out(text);
  if (!out.empty()) out[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(out[0])));
  return out;
}

}  // namespace

DecidingCurve make_curve(std::string_view memory, std::string_view quantity, Axis x, Axis y) {
  DecidingCurve curve;
  curve.memory = memory;
  curve.quantity = quantity;
  curve.x = std::move(x);
  curve.y = std::move(y);
  return curve;
}

void mark(DecidingCurve& curve, const Estimate& answer) {
  if (!answer.has_value()) return;
  curve.change = answer.value;
  curve.interval = answer.interval;
}

Series share_up_to(std::string label, std::vector<double> numbers) {
  std::map<double, std::uint64_t> counts;
  for (const double x : numbers) ++counts[x];
  return steps(std::move(label), counts);
}

Series share_up_to(std::string label, const Histogram& loads, double overhead_cycles) {
  std::map<double, std::uint64_t> counts;
  for (const auto& [cycles, count] : loads) counts[cycles - overhead_cycles] += count;
  return steps(std::move(label), counts);
}

Axis share_axis(std::string_view of) {
  return {fmt::format("share of {} that took at most as long", of), "", false};
}

DecidingCurve numbers_curve(std::string_view memory, std::string_view quantity, const Axis& x, std::string_view of,
                            std::vector<double> numbers, const Estimate& answer) {
  DecidingCurve curve = make_curve(memory, quantity, x, share_axis(of));
  curve.series = {share_up_to(std::string(of), std::move(numbers))};
  mark(curve, answer);
  return curve;
}

DecidingCurve asked_curve(std::string_view memory, std::string_view quantity, std::string_view who, std::string_view y,
                          std::span<const Asked> asked) {
  DecidingCurve curve = make_curve(memory, quantity, {std::string(who), "", false}, {std::string(y), "", false});
  double itself = 0, nobody = 0;
  std::uint32_t last = 0;
  for (const Asked& one : asked) {
    itself += one.to_itself;
    nobody += one.to_nobody;
    last = std::max({last, one.first, one.lost_to.empty() ? 0 : one.lost_to.rbegin()->first});
    // Both controls are series of their own.
    if (one.lost_to.empty() || curve.series.size() + 2 >= most_series) continue;
    Series& series = curve.series.emplace_back();
    series.label = fmt::format("{} {} to each other one", capital(who), one.first);
    for (const auto& [other, share] : one.lost_to) series.points.emplace_back(other, share);
  }
  const auto count = static_cast<double>(std::max<std::size_t>(1, asked.size()));
  itself /= count, nobody /= count;
  curve.series.push_back({"to itself (control)", {{0, itself}, {last, itself}}});
  curve.series.push_back({"to nobody (control)", {{0, nobody}, {last, nobody}}});
  return curve;
}

DecidingCurve lost_to_curve(std::string_view memory, std::string_view quantity) {
  return make_curve(memory, quantity, {"loaded in between", "B", false}, {std::string(share_of_lines_lost), "", false});
}

void add_lost_to(DecidingCurve& curve, const LostToBytes& lost, std::span<const Tally> none) {
  if (curve.series.size() >= most_series) return;
  Series& series = curve.series.emplace_back(Series{lost.to, {}});
  for (const Tally& t : none) series.points.emplace_back(0, t.share());
  for (const Tally& t : lost.runs) series.points.emplace_back(lost.bytes, t.share());
}

}  // namespace gputopo::evidence
