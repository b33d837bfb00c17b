#include "evidence/looks/search.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "evidence/inference/curves.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/inference/sameness.hpp"

namespace gputopo::evidence {
namespace {

constexpr double beyond_doubt = 0.999;

struct Stretch {
  std::uint64_t low = 0, high = 0;
};

std::uint64_t multiple(std::uint64_t bytes, std::uint64_t unit) {
  return std::max(unit, bytes / unit * unit);
}

// The probability that the last footprint that fits is smaller than `bytes`, or at least that.
double below(const CapacityPosterior& p, std::uint64_t bytes) {
  double sum = p.none_fits;
  for (std::size_t i = 0; i < p.footprints_bytes.size() && p.footprints_bytes[i] < static_cast<double>(bytes); ++i)
    sum += p.probability[i];
  return sum;
}
double from(const CapacityPosterior& p, std::uint64_t bytes) {
  return 1 - below(p, bytes);
}

double change_within(const CapacityPosterior& p) {
  return 1 - p.probability.back();
}

class Search {
 public:
  explicit Search(const SearchSpec& spec) : spec_(spec) {
    floor_ = multiple(spec.first_bytes, spec.unit_bytes);
    limit_ = multiple(spec.limit_bytes, spec.unit_bytes);
    resolution_ = multiple(std::max(spec.resolution_bytes, spec.unit_bytes), spec.unit_bytes);
  }

  /// Everything counted with the laps of the answer.
  const Counts& seen() const { return seen_; }

  Expected<SearchResult> run() {
    auto result = searched();
    if (result) result->posterior = capacity_posterior(seen_, spec_.sweep);
    return result;
  }

 private:
  CapacityPosterior by_law_alone() const {
    Sweep sweep = spec_.sweep;
    sweep.by_law_alone = true;
    return capacity_posterior(seen_, sweep);
  }

  Expected<SearchResult> searched() {
    auto stretch = doubled();
    if (!stretch) return tl::unexpected<Error>(stretch.error());
    if (stretch->low == limit_) {  // even the largest fits
      SearchResult all;
      all.counts = seen_;
      return all;
    }
    auto result = narrowed(*stretch);
    while (result && result->resolved && result->patience < spec_.most_patience) {
      const std::uint32_t more = result->patience * 4;
      auto stable = same_with(more, *result);
      if (!stable) return tl::unexpected<Error>(stable.error());
      if (*stable) break;
      if (more >= spec_.most_patience && !spec_.narrows_to_the_last) {
        result->settled = false;
        break;
      }
      patience_ = more;
      seen_.clear();
      result = narrowed(around(*result));
      if (result) result->settled = more < spec_.most_patience;
    }
    return result;
  }

  // Leaves out footprints that can't be had, from where on there is nothing to search.
  Expected<Counts> count(std::vector<std::uint64_t>& footprints, std::size_t replicates, std::uint32_t patience) {
    std::vector<RowRequest> rows;
    for (const std::uint64_t bytes : footprints) rows.push_back({bytes, patience});
    auto counts = spec_.count(rows, replicates);
    if (!counts || counts->empty()) return counts;
    const auto largest = static_cast<std::uint64_t>(counts->back().footprint_bytes);
    if (largest < footprints.back()) limit_ = largest;
    std::erase_if(footprints, [&](std::uint64_t bytes) { return bytes > largest; });
    return counts;
  }

  // Powers of two until the footprints seen so far can't all fit.
  Expected<Stretch> doubled() {
    // Few footprints a launch: it takes as long as its largest one.
    constexpr std::uint64_t many_until_bytes = 64 << 10;
    std::uint64_t bytes = floor_;
    while (true) {
      std::vector<std::uint64_t> footprints;
      const std::size_t most = bytes < many_until_bytes ? 4 : 2;
      for (; bytes < limit_ && footprints.size() < most; bytes *= 2) footprints.push_back(bytes);
      if (footprints.size() < most) footprints.push_back(limit_);
      auto counts = count(footprints, 1, 1);
      if (!counts) return tl::unexpected<Error>(counts.error());
      seen_.insert(seen_.end(), counts->begin(), counts->end());
      const CapacityPosterior p = by_law_alone();
      if (change_within(p) > beyond_doubt) {
        const Interval likely = p.credible(beyond_doubt);
        // A footprint a little too large can miss so rarely that it seems to fit.
        const auto low = static_cast<std::uint64_t>(likely.low) * 4 / 5;
        const auto high = std::min(limit_, static_cast<std::uint64_t>(likely.high) * 2);
        return Stretch{p.none_fits > beyond_doubt ? floor_ : std::max(floor_, low), std::max(high, 2 * floor_)};
      }
      constexpr double surely = 0.99;
      if (footprints.back() >= limit_) return Stretch{p.probability.back() > surely ? limit_ : limit_ / 2, limit_};
    }
  }

  std::vector<std::uint64_t> footprints_of(const Stretch& s, std::uint64_t step) const {
    std::vector<std::uint64_t> all;
    for (std::uint64_t bytes = multiple(s.low, step); bytes <= s.high; bytes += step)
      if (bytes >= floor_) all.push_back(bytes);
    if (all.empty() || all.back() < s.high) all.push_back(multiple(s.high, spec_.unit_bytes));
    return all;
  }

  Expected<SearchResult> narrowed(Stretch stretch) {
    constexpr int stages_at_most = 12;
    constexpr std::uint64_t far_more = 8;  // rows than a sweep has: what many of them leave open others don't tell
    std::uint64_t finest = limit_;         // a sweep of few rows must get somewhere, too
    SearchResult result;
    std::uint64_t step = 0;  // of the rows
    Stretch swept;           // in such steps
    bool is_last = false;
    for (int stage = 0; stage < stages_at_most; ++stage) {
      if (step == 0) {
        const std::uint64_t wanted = std::min((stretch.high - stretch.low) / spec_.rows, finest);
        step = std::max(resolution_, multiple(wanted, spec_.unit_bytes));
        is_last = step == resolution_;
        // What stays as wide is told by more loads, wherever they are: not by finer rows.
        const std::uint64_t span = stretch.high - stretch.low;
        if (spec_.rows_take_long && span / step > 2 * spec_.rows) {
          step = multiple(span / spec_.rows, spec_.unit_bytes);
          is_last = true;
        }
        swept = {limit_, 0};
        result.counts.clear();
      }
      if (stage != 0 && (stretch.high - stretch.low) / step > far_more * spec_.rows) {
        result.resolved = false;
        return result;
      }
      auto footprints = footprints_of(stretch, step);
      auto counts = count(footprints, is_last ? spec_.replicates : 1, patience_);
      if (!counts) return tl::unexpected<Error>(counts.error());
      swept = {std::min(swept.low, footprints.front()), std::max(swept.high, footprints.back())};
      result.counts.insert(result.counts.end(), counts->begin(), counts->end());
      std::stable_sort(result.counts.begin(), result.counts.end(),
                       [](const Count& a, const Count& b) { return a.footprint_bytes < b.footprint_bytes; });
      result.patience = patience_;
      // Footprints far beyond speak, too: what they hold is held by the cache whose size this is.
      if (stage == 0 && !spec_.keeps_first_walks)
        std::erase_if(seen_, [&](const Count& c) {
          return c.footprint_bytes >= counts->front().footprint_bytes &&
                 c.footprint_bytes <= counts->back().footprint_bytes;
        });
      seen_.insert(seen_.end(), counts->begin(), counts->end());
      result.posterior = by_law_alone();
      const CapacityPosterior& p = result.posterior;
      const std::uint64_t span = std::max(swept.high - swept.low, 8 * spec_.unit_bytes);
      // Where it ends beyond what was swept, that goes on there.
      if (below(p, swept.low) > 0.01 && swept.low > floor_) {
        stretch = {swept.low > floor_ + span ? swept.low - span : floor_, swept.low + 2 * step};
      } else if (from(p, swept.high) > 0.01 && swept.high + spec_.unit_bytes <= limit_) {
        stretch = {swept.high - std::min(span / 2, 2 * step), std::min(limit_, swept.high + span)};
      } else if (is_last) {
        return result;
      } else {
        const Interval likely = p.credible(beyond_doubt);
        // What fits is seen by misses that are not there, where it ends by how they grow.
        stretch.low = std::max(floor_, static_cast<std::uint64_t>(likely.low) -
                                           std::min<std::uint64_t>(step, static_cast<std::uint64_t>(likely.low)));
        stretch.high = std::min(limit_, static_cast<std::uint64_t>(likely.high) + 4 * step);
        finest = std::max(resolution_, step / 3);
        step = 0;
      }
    }
    return result;
  }

  Stretch around(const SearchResult& result) const {
    const Interval likely = result.posterior.credible(beyond_doubt);
    const auto margin = std::max<std::uint64_t>(16 * resolution_, static_cast<std::uint64_t>(likely.high) / 4);
    const auto low = static_cast<std::uint64_t>(likely.low);
    return {low > margin + floor_ ? low - margin : floor_,
            std::min(limit_, static_cast<std::uint64_t>(likely.high) + margin)};
  }

  static Tally tally_of(const Counts& counts, std::uint64_t footprint_bytes) {
    Tally tally;
    for (const Count& c : counts)
      if (c.footprint_bytes == static_cast<double>(footprint_bytes))
        tally += {static_cast<double>(c.loads), static_cast<double>(c.misses)};
    return tally;
  }

  // Whether one row lost half of its misses or more, and not by chance. What just fits misses seldom while it settles:
  // that hardly shows in what larger footprints miss.
  bool misses_less(const Tally& before, const Tally& after) const {
    constexpr double deviations = 2;
    Tally all = before;
    all += after;
    if (before.loads == 0 || after.loads == 0) return false;
    const double p = all.share(), strangers = spec_.sweep.contamination.false_miss;
    const double error = std::sqrt(spec_.sweep.scatter * p * (1 - p) * (1 / before.loads + 1 / after.loads));
    return before.share() - after.share() > deviations * error &&
           after.share() - strangers <= 0.5 * (before.share() - strangers);
  }

  // Whether the first footprints that seem too large still do after more laps.
  Expected<bool> same_with(std::uint32_t patience, const SearchResult& result) {
    const CapacityPosterior& p = result.posterior;
    if (p.probability.back() > 0.5) return true;
    const auto last = static_cast<std::uint64_t>(
        p.none_fits > 0.5 ? p.footprints_bytes.front() - static_cast<double>(spec_.unit_bytes) : p.credible(0.95).high);
    std::vector<std::uint64_t> rows;
    Counts before;
    for (const Count& c : result.counts) {
      if (c.footprint_bytes <= static_cast<double>(last)) continue;
      const auto bytes = static_cast<std::uint64_t>(c.footprint_bytes);
      if (rows.empty() || rows.back() != bytes) {
        if (rows.size() == 3) break;
        rows.push_back(bytes);
      }
      before.push_back(c);
    }
    if (rows.empty()) return true;
    auto after = count(rows, spec_.replicates, patience);
    if (!after) return tl::unexpected<Error>(after.error());
    std::erase_if(before, [&](const Count& c) { return c.footprint_bytes > static_cast<double>(rows.back()); });
    if (misses_less(tally_of(before, rows.front()), tally_of(*after, rows.front()))) return false;
    // By the replicate of each row that missed least: what others push out makes more of one of them.
    const auto share = [](const Counts& counts) {
      std::map<double, double> least;
      for (const Count& c : counts) {
        if (c.loads == 0) continue;
        const double missed = static_cast<double>(c.misses) / static_cast<double>(c.loads);
        const auto [it, is_new] = least.try_emplace(c.footprint_bytes, missed);
        if (!is_new) it->second = std::min(it->second, missed);
      }
      double sum = 0;
      for (const auto& [bytes, missed] : least) sum += missed;
      return least.empty() ? 0 : sum / static_cast<double>(least.size());
    };
    // What still settles misses less with every lap: n lines of random replacement leave n / t of them after t laps.
    return share(*after) - spec_.sweep.contamination.false_miss >
           0.5 * (share(before) - spec_.sweep.contamination.false_miss);
  }

  const SearchSpec& spec_;
  std::uint64_t floor_ = 0, limit_ = 0, resolution_ = 0;
  std::uint32_t patience_ = 1;
  Counts seen_;  // with this patience
};

// Misses over footprint, and where what fits ends.
DecidingCurve size_curve(const Counts& seen, const CapacityPosterior& p, const SearchSpec& spec) {
  DecidingCurve curve =
      make_curve(spec.memory, spec.quantity, {"footprint", "B", true}, {std::string(share_that_misses), "", false});
  std::map<double, std::pair<double, double>> rows;  // misses and loads
  for (const Count& c : seen) {
    auto& [misses, loads] = rows[c.footprint_bytes];
    misses += static_cast<double>(c.misses), loads += static_cast<double>(c.loads);
  }
  Series& shares = curve.series.emplace_back(Series{"by timing", {}});
  for (const auto& [bytes, row] : rows)
    if (row.second > 0) shares.points.emplace_back(bytes, row.first / row.second);
  if (p.footprints_bytes.empty() || p.none_fits > 0.5 || p.probability.back() > 0.5) return curve;
  curve.change = p.footprints_bytes[p.best()];
  const Interval likely = p.credible(0.95);
  curve.interval = Interval{std::min(likely.low, *curve.change), std::max(likely.high, *curve.change)};
  return curve;
}

}  // namespace

Expected<SearchResult> search_capacity(const SearchSpec& spec) {
  return Search(spec).run();
}

Expected<SearchResult> search_capacity(Session& session, const SearchSpec& spec) {
  Search search(spec);
  auto result = search.run();
  if (result) session.keep(size_curve(search.seen(), result->posterior, spec));
  return result;
}

Estimate estimate_of(const SearchResult& result, std::string_view method) {
  Estimate e = capacity_estimate(result.posterior, method);
  if (!result.resolved && e.status == Status::measured)
    e = inconclusive("B", method, "where it begins to miss doesn't show, however many footprints are walked");
  if (!result.settled && e.status == Status::measured)
    e = inconclusive("B", method, "what fits still grows with the laps that the cache gets to settle");
  if (e.status == Status::upper_bound)
    e = inconclusive("B", method, "even what every such cache holds is lost: something else takes a part of it");
  return e;
}

}  // namespace gputopo::evidence
