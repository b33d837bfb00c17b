#include "calibration.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "evidence/inference/capacity.hpp"
#include "simulated_cache.hpp"

namespace gputopo::change_point::testing {
namespace {

evidence::CapacityPosterior posterior_of(const SimulatedCache& cache) {
  constexpr double known_hits = 1000;
  const double threshold = (cache.hit_cycles + cache.miss_cycles) / 2;
  evidence::Counts counts;
  for (const Row& row : simulate(cache).rows) {
    const auto misses = std::count_if(row.values.begin(), row.values.end(), [&](double x) { return x >= threshold; });
    counts.push_back({row.control, row.values.size(), static_cast<std::uint64_t>(misses)});
  }
  evidence::Sweep sweep;
  sweep.line_bytes = static_cast<double>(cache.line_bytes);
  sweep.contamination = {std::max(0.5 / known_hits, cache.outlier_probability), 0.5 / known_hits, known_hits};
  sweep.own_lines = true;
  return capacity_posterior(counts, sweep);
}

}  // namespace

double Calibration::overstated() const {
  constexpr int enough = 20;
  double largest = 0;
  for (std::size_t i = 5; i < by_confidence.size(); ++i) {
    const Bin& bin = by_confidence[i];
    if (bin.said < enough) continue;
    const double said = bin.confidence_sum / bin.said, right = static_cast<double>(bin.right) / bin.said;
    largest = std::max(largest, said - right - 2 * std::sqrt(said * (1 - said) / bin.said));
  }
  return largest;
}

Bin Calibration::half_sure() const {
  Bin sum;
  for (std::size_t i = 5; i < 9; ++i) {
    sum.said += by_confidence[i].said, sum.right += by_confidence[i].right;
    sum.confidence_sum += by_confidence[i].confidence_sum;
  }
  return sum;
}

Calibration calibrate(std::uint64_t first, std::uint64_t count) {
  Calibration all;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const SimulatedCache cache = random_cache(seed);
    const evidence::CapacityPosterior p = posterior_of(cache);
    const Estimate e = capacity_estimate(p, "misses");
    const double truth = truth_bytes(cache);
    const auto holds = [&](const Interval& i) { return i.low <= truth && truth <= i.high; };
    ++all.caches;
    if (e.status != Status::measured) continue;
    ++all.measured;
    all.covered_95 += holds(*e.interval) ? 1 : 0;
    if (const Interval half = p.credible(0.5); half.high > half.low) {
      ++all.wide;
      for (std::size_t i = 0; i < p.probability.size(); ++i)
        if (half.low <= p.footprints_bytes[i] && p.footprints_bytes[i] <= half.high) all.within_50 += p.probability[i];
      all.covered_50 += holds(half) ? 1 : 0;
    }
    Bin& bin = all.by_confidence[std::min<std::size_t>(9, static_cast<std::size_t>(*e.confidence * 10))];
    ++bin.said;
    bin.right += *e.value == truth ? 1 : 0;
    bin.confidence_sum += *e.confidence;
  }
  return all;
}

std::string table_of(const Calibration& c) {
  const auto percent = [](int part, int whole) { return whole == 0 ? 0 : 100.0 * part / whole; };
  std::string text = fmt::format(
      "{} caches, {} sizes said; their 95 % intervals hold the capacity in {:.1f} %, the {} 50 % intervals of more "
      "than a "
      "row in {:.1f} %, where their rows have {:.1f} % of the probability\n\n| confidence | said | right |\n| --- | "
      "--- | --- |\n",
      c.caches, c.measured, percent(c.covered_95, c.measured), c.wide, percent(c.covered_50, c.wide),
      c.wide == 0 ? 0 : 100 * c.within_50 / c.wide);
  for (const Bin& bin : c.by_confidence)
    if (bin.said != 0)
      text += fmt::format("| {:.2f} | {} | {:.1f} % |\n", bin.confidence_sum / bin.said, bin.said,
                          percent(bin.right, bin.said));
  const Bin half = c.half_sure();
  if (half.said != 0)
    text += fmt::format("\nfrom 0.5 to 0.9: {} said, with {:.2f} on the average, {:.1f} % right\n", half.said,
                        half.confidence_sum / half.said, percent(half.right, half.said));
  return text;
}

std::string diagram_of(const Calibration& c) {
  constexpr int side = 320, margin = 45;
  const auto x = [](double p) { return margin + side * p; };
  const auto y = [](double p) { return margin / 2 + side * (1 - p); };
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {0}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"{0}\" height=\"{0}\" fill=\"white\"/>\n"
      "<path d=\"M{1} {2}H{3}V{4}H{1}Z M{1} {2}L{3} {4}\" fill=\"none\" stroke=\"#888\"/>\n",
      side + 2 * margin, x(0), y(0), x(1), y(1));
  for (const double p : {0.0, 0.5, 1.0})
    svg += fmt::format(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text><text x=\"{}\" y=\"{}\" "
        "text-anchor=\"end\">{}</text>\n",
        x(p), y(0) + 16, p, x(0) - 6, y(p) + 4, p);
  svg += fmt::format(
      "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">confidence</text>\n<text x=\"14\" y=\"{}\" "
      "transform=\"rotate(-90 14 {})\" text-anchor=\"middle\">share that is right</text>\n",
      x(0.5), y(0) + 34, y(0.5), y(0.5));
  for (const Bin& bin : c.by_confidence) {
    if (bin.said == 0) continue;
    const double share = static_cast<double>(bin.right) / bin.said,
                 reach = 1.96 * std::sqrt(share * (1 - share) / bin.said);
    const double at = x(bin.confidence_sum / bin.said);
    svg += fmt::format(
        "<path d=\"M{0:.1f} {1:.1f}V{2:.1f}\" stroke=\"#06c\"/><circle cx=\"{0:.1f}\" cy=\"{3:.1f}\" r=\"4\" "
        "fill=\"#06c\"/>\n",
        at, y(std::max(0.0, share - reach)), y(std::min(1.0, share + reach)), y(share));
  }
  return svg + "</svg>\n";
}

}  // namespace gputopo::change_point::testing
