#include "evidence/traces/stride_likelihood.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <optional>

#include "stop/stop.hpp"

namespace gputopo::evidence {

using change_point::Observation;

namespace {

// One stride alone can't rule a line size out. A density is the higher the narrower it is: of natural logarithms, and
// of shares.
constexpr double least_density = 0.003, width_of_dense = 0.35, width_of_sparse = 0.15;

// How far two shares of misses may be from the ratio that they ought to have, as a binary logarithm: by a policy that
// isn't LRU nearly half as many again. With 0.5 one real GPU's line (of 15) is left open, from 0.55 on models' lines
// come out as twice of what they are. By LRU, which of all loads of a lap pushes out the same, hardly but for the loads
// that were counted. One trace's walks are all of one policy, and which is as likely as the other.
constexpr double octaves = 0.525, octaves_of_lru = 0.1;

// A line of so many bytes, of which a miss brings in a sector.
struct Hypothesis {
  double line = 0, sector = 0;
  bool is_lru = false;
  // The share of a missing line's loads that miss: of a stride below a sector's only the first one to each.
  double share_of_loads(double stride) const { return std::min(1.0, stride / sector); }
};

struct Missing {
  double loads = 0, misses = 0;
  double share() const { return (misses + 0.5) / (loads + 1); }
  double variance() const { return (1 - share()) / (misses + 0.5); }  // of the natural logarithm of the share
};

double deviation_of(const Missing& a, const Missing& b, const Hypothesis& h) {
  if (!h.is_lru) return octaves;
  const double counted = std::sqrt(a.variance() + b.variance()) / std::numbers::ln2;
  return std::min(octaves, std::hypot(octaves_of_lru, counted));
}

double log_density(const Missing& a, const Missing& b, double expected_ratio, const Hypothesis& h) {
  const double z = std::log2(a.share() / b.share() / expected_ratio) / deviation_of(a, b, h);
  return -0.5 * z * z;
}

// A stride's: the higher the narrower, once however many rows hypotheses compare.
double log_density(const Missing& a, const Missing& b, double expected_ratio, const Hypothesis& h, double rank) {
  return log_density(a, b, expected_ratio, h) + (rank > 1 ? 0 : std::log(octaves / deviation_of(a, b, h)));
}

double log_sum_of(const std::vector<double>& logs) {
  const double most = *std::max_element(logs.begin(), logs.end());
  double sum = 0;
  for (const double x : logs) sum += std::exp(x - most);
  return most + std::log(sum);
}

// Between the rows around it; nothing where the sweep ends before.
std::optional<Missing> missing_at(const StrideCurve& curve, double footprint) {
  const auto after = std::lower_bound(curve.rows.begin(), curve.rows.end(), footprint,
                                      [](const Observation& row, double bytes) { return row.control < bytes; });
  if (after == curve.rows.end()) return std::nullopt;
  const Missing there{after->weight, after->sum};
  if (after == curve.rows.begin() || after->control == footprint) return there;
  const Observation& before = *(after - 1);
  const double part = (footprint - before.control) / (after->control - before.control);
  const double share = (1 - part) * before.sum / before.weight + part * there.misses / there.loads;
  return Missing{there.loads, share * there.loads};
}

// The sum of `of_row` over rows beyond the capacity, as far as `to` and the first one in any case. The k-th one counts
// 1 / k: the nearer the onset, the more a walk that touches fewer lines stands out.
template <class OfRow>
double over_rows(const StrideCurves& data, const StrideCurve& curve, double to, const OfRow& of_row) {
  double sum = 0, rank = 0;
  for (const Observation& row : curve.rows)
    if (row.control > data.capacity && (rank == 0 || row.control <= to)) {
      ++rank;
      sum += of_row(row, rank) / rank;
    }
  return sum;
}

// Both strides touch every line: what they miss on differs by sectors alone. A stride is held against the longest of
// the shorter ones that misses there at all.
double log_dense(const StrideCurves& data, std::size_t stride, const Hypothesis& h) {
  const StrideCurve& longer = data.curves[stride];
  const double to = data.capacity * longer.stride / data.curves[stride - 1].stride;
  const auto misses_of = [&](const StrideCurve& curve) {
    return over_rows(data, curve, to, [](const Observation& row, double) { return row.sum; });
  };
  std::size_t shorter = stride - 1;
  while (shorter > 0 && misses_of(data.curves[shorter]) == 0) --shorter;
  const double expected = h.share_of_loads(longer.stride) / h.share_of_loads(data.curves[shorter].stride);
  return over_rows(data, longer, to, [&](const Observation& row, double rank) {
    const auto reference = missing_at(data.curves[shorter], row.control);
    return reference ? log_density({row.weight, row.sum}, *reference, expected, h, rank) : 0;
  });
}

// The longer stride goes to a part of the sets, and these hold as many of its lines as of all up to the end of its last
// stretch.
double log_aliased(const StrideCurves& data, const StrideCurve& dense, const StrideCurve& longer, const Hypothesis& h,
                   double stretches_of(double)) {
  const double expected = 1 / h.share_of_loads(dense.stride);
  return over_rows(data, longer, data.capacity * longer.stride / h.line, [&](const Observation& row, double rank) {
    const auto reference = missing_at(dense, stretches_of(row.control / longer.stride) * longer.stride);
    return reference ? log_density({row.weight, row.sum}, *reference, expected, h, rank) : 0;
  });
}

// Whether a footprint that overflows the dense walk was walked that the longer one doesn't touch too many lines of.
bool is_walked_sparsely(const StrideCurves& data, const StrideCurve& longer, const Hypothesis& h) {
  return std::ranges::any_of(longer.rows, [&](const Observation& row) {
    return row.control > data.capacity && row.control <= data.capacity * longer.stride / h.line;
  });
}

// Around 0.05 +- 0.15 of what the dense walk misses on: the longer one touches too few lines.
double log_sparse(const StrideCurves& data, const StrideCurve& dense, const StrideCurve& longer, const Hypothesis& h) {
  double share = 0, reference_share = 0;
  const double to = data.capacity * longer.stride / h.line;
  over_rows(data, longer, to, [&](const Observation& row, double rank) {
    const auto reference = missing_at(dense, row.control);
    if (!reference) return 0.0;
    share += row.sum / row.weight / rank, reference_share += reference->misses / reference->loads / rank;
    return 0.0;
  });
  constexpr double hardly_any = 0.01;
  const double ratio = share / std::max(hardly_any, reference_share) * h.share_of_loads(dense.stride);
  const double z = (ratio - 0.05) / width_of_sparse;
  return -0.5 * z * z;
}

// Each line beyond the capacity takes one more set's lines with it, or as many more by chance: misses grow line by
// line, and stay the same within one. The last of them that fits lies anywhere from the last footprint that does to the
// first that doesn't.
double log_growth(const StrideCurves& data, const StrideCurve& dense, const Hypothesis& h) {
  constexpr double still_grows = 0.8;
  constexpr int places = 4;
  const auto first = std::find_if(dense.rows.begin(), dense.rows.end(),
                                  [&](const Observation& row) { return row.control > data.capacity; });
  std::vector<double> by_place;
  for (int place = 0; first != dense.rows.end() && place < places; ++place) {
    const double capacity = data.capacity + (first->control - data.capacity) * place / places;
    const auto lines_beyond = [&](double footprint) { return std::ceil((footprint - capacity) / h.line); };
    by_place.push_back(over_rows(data, dense, HUGE_VAL, [&](const Observation& row, double) {
      const Missing here{row.weight, row.sum}, before{first->weight, first->sum};
      if (&row == &*first || here.share() > still_grows * h.share_of_loads(dense.stride)) return 0.0;
      return log_density(here, before, lines_beyond(row.control) / lines_beyond(first->control), h);
    }));
  }
  return by_place.empty() ? 0 : log_sum_of(by_place) - std::log(places);
}

// How likely a stride longer than the line is, by how its walks are spread over the sets.
struct OfLonger {
  double begun = 0, ended = 0;  // over a part of them; its last stretch is one that the footprint begins, or ends
  double sparse = 0;            // over all
  double overfull = 0;          // over all, and whatever was walked of it overflows
  double even = 1, odd = 1;     // neighbours of which it touches one: a power of two times an odd number
};

OfLonger of_longer(const StrideCurves& data, std::size_t line, std::size_t stride, const Hypothesis& h) {
  const StrideCurve &dense = data.curves[line], &longer = data.curves[stride];
  const auto bytes = static_cast<std::uint64_t>(std::llround(longer.stride));
  const std::uint64_t p = bytes / std::gcd(bytes, static_cast<std::uint64_t>(std::llround(h.line)));
  const std::uint64_t even = p & (~p + 1);
  OfLonger of{std::exp(log_aliased(data, dense, longer, h, std::ceil)) / width_of_dense,
              std::exp(log_aliased(data, dense, longer, h, std::floor)) / width_of_dense,
              1,  // be it what it may
              std::exp(log_dense(data, stride, h)) / width_of_dense,
              static_cast<double>(even),
              static_cast<double>(p / even)};
  if (is_walked_sparsely(data, longer, h))
    of.sparse = of.overfull = std::exp(log_sparse(data, dense, longer, h)) / width_of_sparse;
  return of;
}

// Of an index by address bits of that many sets (a power of two, times any odd number) a stride whose neighbours divide
// them goes to a part; one set, and a hash, are gone to alike by all strides.
double log_likelihood_of(const std::vector<OfLonger>& longer, double sets, bool is_begun, bool is_overfull) {
  double total = 0;
  for (const OfLonger& s : longer) {
    const double aliased = s.even * s.odd > 1 && s.even <= sets ? 1 / s.odd : 0;
    const double spread = is_overfull ? s.overfull : s.sparse;
    total += std::log(std::max(least_density, aliased * (is_begun ? s.begun : s.ended) + (1 - aliased) * spread));
  }
  return total;
}

// Strides up to the line are dense; the others are held against the longest of these, or the shortest there is. Of the
// numbers of sets, and a hash, the one that fits best counts: how often caches are built with each would else decide
// between lines that the rows don't tell apart. All strides' footprints end in one way.
double log_likelihood_of(const Hypothesis& h, const StrideCurves& data) {
  std::size_t line = 0;
  while (line + 1 < data.curves.size() && data.curves[line + 1].stride <= h.line) ++line;
  double total = std::max(std::log(least_density), log_growth(data, data.curves.front(), h));
  std::vector<OfLonger> longer;
  for (std::size_t i = 1; i < data.curves.size(); ++i) {
    stop::look();
    if (i > line)
      longer.push_back(of_longer(data, line, i, h));
    else
      total += std::max(std::log(least_density), log_dense(data, i, h) - std::log(width_of_dense));
  }
  constexpr int most_bits = 10;
  std::vector<double> by_index;
  for (const bool is_begun : {true, false})
    for (const bool is_overfull : {true, false}) {
      by_index.push_back(log_likelihood_of(longer, 0, is_begun, is_overfull));
      for (int bits = 1; bits <= most_bits; ++bits)
        by_index.push_back(log_likelihood_of(longer, std::exp2(bits), is_begun, is_overfull));
    }
  return total + *std::max_element(by_index.begin(), by_index.end());
}

}  // namespace

// Of one, two or four sectors; seldom of more (docs/domain.md).
double log_likelihood_of_line(double line_bytes, const StrideCurves& data) {
  constexpr double seldom = 0.01;
  std::vector<double> all;
  for (const double sectors : {1.0, 2.0, 4.0, 8.0})
    for (const bool is_lru : {false, true})
      all.push_back(log_likelihood_of(Hypothesis{line_bytes, line_bytes / sectors, is_lru}, data) +
                    std::log((sectors > 4 ? seldom : (1 - seldom) / 3) / 2));
  return log_sum_of(all);
}

}  // namespace gputopo::evidence
