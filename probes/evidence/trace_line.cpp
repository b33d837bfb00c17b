#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>

#include "change_point/trace_check.hpp"
#include "evidence/estimates.hpp"
#include "evidence/posterior.hpp"
#include "evidence/trace_levels.hpp"
#include "evidence/traces.hpp"
#include "stop/stop.hpp"

namespace gputopo::evidence {

using namespace change_point;

namespace {

constexpr const char* trace_line_method = "stride_onset";

// Share of misses by footprint, of one stride.
struct Curve {
  double stride = 0;
  std::vector<Observation> rows;
};

struct Overflow {
  std::vector<Curve> curves;  // ascending stride
  double capacity = 0;        // the last footprint that fits, for the densest walk
};

// How a stride's share of misses relates to that of a walk that touches every line: around 1 where it touches every
// line as well (the next shorter stride is compared with; fewer misses where a miss brings neighbours in), around 0
// where it touches too few, either where it uses a part of the sets.
double normal_density(double ratio, double mean, double deviation) {
  const double z = (ratio - mean) / deviation;
  return std::exp(-0.5 * z * z) / deviation;
}
double dense_density(double ratio) {
  return normal_density(std::min(ratio, 1.0), 1, 0.35);
}
double sparse_density(double ratio) {
  return normal_density(ratio, 0.05, 0.15);
}
// How a cache finds a line's set: of all strides alike.
enum class Index { by_address_bits, hash };

// Of a stride of p lines for every q a walk touches q of p neighbours: where p divides the number of sets it goes to as
// large a part of these, which overflows at C as well. That is so of nearly every power of two but for a hash, of p
// with an odd factor of one number of sets in so many.
double share_of_aliasing(double stride, double line, Index index) {
  constexpr double nearly_all = 0.9;  // there may be fewer sets than that
  if (index == Index::hash) return 0;
  const auto of = static_cast<std::uint64_t>(std::llround(stride));
  const std::uint64_t p = of / std::gcd(of, static_cast<std::uint64_t>(std::llround(line)));
  const std::uint64_t odd = p / (p & (~p + 1));
  return nearly_all / static_cast<double>(odd);
}

// A part of the sets can't miss on a larger share of its loads than all of them: a share that grows with the stride
// tells that two loads of the shorter one went to the same line.
double longer_density(double ratio, double stride, double line, Index index) {
  const double shortfall = ratio < 1 ? ratio : 1 + 0.35 / 0.15 * (ratio - 1);  // steeper above 1
  const double aliased = share_of_aliasing(stride, line, index);
  return aliased * normal_density(shortfall, 1, 0.35) + (1 - aliased) * sparse_density(ratio);
}
constexpr double least_density = 0.003;  // one stride alone can't rule a line size out

std::string overflows_early(double stride_bytes) {
  return "footprints that ought to fit miss already at a stride of " + std::to_string(std::llround(stride_bytes)) +
         " bytes; sweep smaller footprints, with more loads";
}

// The separation of all loads of all strides into hits and misses, by the strides' own onsets.
std::optional<Overflow> overflow(const std::vector<StrideSweep>& sweeps, std::string& reason) {
  // The shortest strides touch every line; the first whose sweep shows capacity misses sets the scale.
  for (const StrideSweep& reference : sweeps) {
    stop::look();
    if (!why_unusable(reference.trace, 3).empty()) {
      continue;
    }
    const auto candidates = separations(reference.trace);
    if (!capacity_separation(candidates, sweeps.size())) {
      continue;
    }
    // Shares are compared far into the rise, so the sharpest change serves best, wherever its onset, of boundaries that
    // tell loads apart.
    const auto is_worse = [](const Separation& a, const Separation& b) {
      return std::pair(a.tells_apart(), a.gain) < std::pair(b.tells_apart(), b.gain);
    };
    const Separation& separation = *std::max_element(candidates.begin(), candidates.end(), is_worse);
    const auto fitting = std::span(separation.rows).first(separation.posterior.best() + 1);
    if (!is_clean(fitting)) {
      reason = overflows_early(reference.stride_bytes);
      return std::nullopt;
    }
    Overflow result;
    result.capacity = separation.rows[separation.posterior.best()].control;
    for (const StrideSweep& sweep : sweeps) {
      stop::look();
      Curve curve{sweep.stride_bytes, {}};
      for (const Row& row : sweep.trace.rows) {
        Observation observation{row.control, static_cast<double>(row.values.size()), 0};
        for (const double value : row.values) {
          observation.sum += static_cast<double>(value >= separation.boundary.threshold_cycles);
        }
        curve.rows.push_back(observation);
      }
      // A walk that touches every line and misses where the reference fits: the sweep begins too late for it.
      const auto beyond = std::find_if(curve.rows.begin(), curve.rows.end(),
                                       [&](const Observation& row) { return row.control > result.capacity; });
      if (sweep.stride_bytes < reference.stride_bytes && beyond != curve.rows.begin() &&
          !is_clean(std::span(curve.rows.begin(), beyond))) {
        reason = overflows_early(sweep.stride_bytes);
        return std::nullopt;
      }
      result.curves.push_back(std::move(curve));
    }
    return result;
  }
  reason = "no footprint overflows at any stride; sweep larger footprints";
  return std::nullopt;
}

// Share of misses over footprints in (from, to], the first row past `from` always among them. The k-th row counts 1/k:
// the nearer the onset, the more a walk that touches fewer lines stands out. Nothing where no row lies past `from`.
std::optional<double> share_of_misses(const Curve& curve, double from, double to) {
  double shares = 0;
  double weights = 0;
  int rank = 0;
  for (const Observation& row : curve.rows) {
    if (row.control > from && (rank == 0 || row.control <= to)) {
      ++rank;
      shares += row.sum / row.weight / rank;
      weights += 1.0 / rank;
    }
  }
  return rank > 0 ? std::optional<double>(shares / weights) : std::nullopt;
}

// Log-likelihood of a line of so many bytes. Strides up to it are dense; the others are held against the longest of
// these, or the shortest stride there is.
double log_likelihood_of(double line_bytes, Index index, const Overflow& data) {
  std::size_t line = 0;
  while (line + 1 < data.curves.size() && data.curves[line + 1].stride <= line_bytes) ++line;
  double total = 0;
  for (std::size_t i = 1; i < data.curves.size(); ++i) {
    stop::look();
    const Curve& curve = data.curves[i];
    const bool dense = i <= line;
    const Curve& reference = data.curves[dense ? i - 1 : line];
    const double to = data.capacity * curve.stride / (dense ? reference.stride : line_bytes);
    const auto share = share_of_misses(curve, data.capacity, to);
    const auto reference_share = share_of_misses(reference, data.capacity, to);
    if (!share || !reference_share) {
      continue;
    }
    // Where the reference hardly misses there is nothing to compare: as likely as a stride that fits well.
    const double ratio = *reference_share > 0.01 ? *share / *reference_share : (*share > 0.02 ? 1e9 : 0);
    const double density = dense ? dense_density(ratio) : longer_density(ratio, curve.stride, line_bytes, index);
    total += std::log(std::max(density, least_density));
  }
  return total;
}

// What a miss brings in at most: of strides up to that more loads miss the longer they are. Of longer ones each load
// brings in its own.
double longest_sector(const Overflow& data) {
  constexpr double shortest = 32;  // (docs/domain.md)
  double sector = data.curves.front().stride;
  for (std::size_t i = 1; i < data.curves.size(); ++i) {
    const Curve &shorter = data.curves[i - 1], &longer = data.curves[i];
    const double to = data.capacity * longer.stride / shorter.stride;
    const auto less = share_of_misses(shorter, data.capacity, to), more = share_of_misses(longer, data.capacity, to);
    if (!less || !more || *more < *less * std::sqrt(longer.stride / shorter.stride)) break;
    sector = longer.stride;
  }
  return std::max(sector, shortest);
}

// The same of an index that nobody knows, either as likely.
double log_likelihood_of(double line_bytes, const Overflow& data) {
  const double by_bits = log_likelihood_of(line_bytes, Index::by_address_bits, data);
  const double by_hash = log_likelihood_of(line_bytes, Index::hash, data);
  const double likelier = std::max(by_bits, by_hash);
  return likelier + std::log(0.5 * (std::exp(by_bits - likelier) + std::exp(by_hash - likelier)));
}

// Lines that no stride but the shortest touches each of, or that all strides do, are one hypothesis at either end.
Posterior posterior_of(const Overflow& data) {
  std::vector<double> strides;
  for (const Curve& curve : data.curves) strides.push_back(curve.stride);
  const double second = strides[1], longest = strides.back();
  std::vector<double> lines = possible_spacings(strides, std::nextafter(second, 0), longest);
  Posterior p;
  p.values = lines;
  lines.insert(lines.begin(), strides.front());
  lines.push_back(2 * longest);
  constexpr double most_sectors = 4, seldom = 0.01;  // of a line (docs/domain.md)
  const double usual = most_sectors * longest_sector(data);
  for (const double line : lines)
    p.probability.push_back(log_likelihood_of(line, data) + (line > usual ? std::log(seldom) : 0));
  for (std::size_t i = 0; i < p.values.size(); ++i) p.probability[i + 1] += log_prior_of_spacing(p.values[i]);
  p.probability = probabilities(std::move(p.probability));
  p.at_most = p.probability.front();
  p.at_least = p.probability.back();
  p.probability = {p.probability.begin() + 1, p.probability.end() - 1};
  p.least = std::exp2(std::ceil(std::log2(second)) - 1);
  p.most = std::exp2(std::floor(std::log2(longest)));
  if (!p.values.empty()) p.take_likeliest();
  // What lies beyond the ends isn't in the interval.
  constexpr double most_outside = 0.35;
  if (p.at_most <= better_part && p.at_least <= better_part && p.at_most + p.at_least > most_outside)
    p.least_of_best = 1;
  return p;
}

}  // namespace

Estimate find_line_size(std::span<const StrideSweep> sweeps) {
  std::vector<StrideSweep> sorted;
  std::uint64_t samples = 0;
  for (const StrideSweep& sweep : sweeps) {
    Trace trace = tidied(sweep.trace);
    if (!(sweep.stride_bytes > 0) || !why_unusable(trace, 1).empty()) continue;
    samples += trace.loads();
    sorted.push_back({sweep.stride_bytes, std::move(trace)});
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const StrideSweep& a, const StrideSweep& b) { return a.stride_bytes < b.stride_bytes; });
  if (sorted.size() < 2)
    return inconclusive("B", trace_line_method, "at least two strides with usable rows are needed", samples);
  std::string reason;
  const auto data = overflow(sorted, reason);
  if (!data) return inconclusive("B", trace_line_method, reason, samples);
  return estimate_of(posterior_of(*data), trace_line_method, samples,
                     {"only the shortest stride touches every line: the line is at most that long",
                      "even the longest stride misses like the shorter ones: the line is at least that long",
                      "several line sizes explain the strides about as well"});
}

}  // namespace gputopo::evidence
