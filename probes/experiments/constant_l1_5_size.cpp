// Size and line of the constant L1.5: in one module's bank, and past its end in the banks of several, each walked by a
// kernel of its own when its turn comes.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "evidence/held/agreed_size.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/lines/line.hpp"
#include "evidence/lines/pushed_constants.hpp"
#include "evidence/looks/footprint.hpp"
#include "evidence/looks/latency.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;

// The kernels' own constants and code pass this cache as well, at most so much of them a lap.
constexpr std::uint64_t own_bytes = 2048;

SearchSpec constant_spec(Session& session, const CacheFacts& cache, bool banks) {
  const device::DeviceInfo& info = session.info();
  const std::uint64_t bank = info.constant_bytes_per_module;
  FootprintSpec rows;
  rows.path = cache.path;
  rows.stride_bytes = cache.stride();
  rows.isolation = Scope::gpu;
  rows.warm_laps = cache.warm_laps;
  rows.front_line_bytes = cache.front_line_bytes;
  rows.front_threshold_cycles = cache.front_threshold_cycles;
  SearchSpec spec;
  spec.sweep = {static_cast<double>(cache.stride()), true, cache.contamination()};
  spec.sweep.saturation = cache.saturation();
  spec.unit_bytes = cache.stride();
  spec.first_bytes = cache.front_line_bytes * 32;
  spec.limit_bytes = bank;
  if (banks) {
    // Programs that keep the GPU to themselves and hand turns from module to module take long: few rows, few laps.
    rows.bank_bytes = bank;
    spec.sweep.own_lines = true;  // laps over several banks are phases of their own
    rows.warm_laps = 4;
    spec.first_bytes = bank;
    spec.limit_bytes = bank * info.constant_modules;
    spec.rows = 12;
    spec.replicates = 2;
  }
  spec.count = count_footprints(session, rows, cache.levels.threshold_cycles);
  return spec;
}

struct Past {
  double lines = 0, misses = 0;  // past what fits, a lap, without strangers
  double error = 0;              // of the mean of all launches
};

// Misses of footprints of so many lines more than `size`, as far as there are constants. A few strangers add to one
// launch and hardly ever to another of the same footprint: the least of them counts. Of many each has its share.
Expected<std::vector<Past>> count_past(const SearchSpec& spec, double size, double line_bytes,
                                       const std::vector<std::uint64_t>& lines) {
  std::vector<RowRequest> rows;
  for (const std::uint64_t more : lines)
    if (size + static_cast<double>(more) * line_bytes <= static_cast<double>(spec.limit_bytes))
      rows.push_back({static_cast<std::uint64_t>(size + static_cast<double>(more) * line_bytes), 1});
  const auto counts = spec.count(rows, spec.replicates);
  if (!counts) return tl::unexpected<Error>(counts.error());
  std::map<double, std::vector<double>> laps;  // by footprint
  for (const Count& c : *counts) laps[c.footprint_bytes].push_back(c.share() * c.footprint_bytes / line_bytes);
  std::vector<Past> past;
  constexpr double a_few = 2.5;
  for (const auto& [footprint, misses] : laps) {
    const double strangers = spec.sweep.contamination.false_miss * footprint / line_bytes;
    const auto [least, most] = std::ranges::minmax(misses);
    const auto n = static_cast<double>(misses.size());
    const double more = (footprint - size) / line_bytes;
    if (strangers < 1 && most - least <= a_few) {
      past.push_back({more, least, 0});
      continue;
    }
    const double mean = std::accumulate(misses.begin(), misses.end(), 0.0) / n;
    const double apart = std::max({std::sqrt(strangers), most - mean, mean - least});
    past.push_back({more, std::max(0.0, mean - strangers), apart / std::sqrt(n)});
  }
  return past;
}

// Misses that every line past what fits adds, until all are lost: several, in a set that goes by use or age.
double step_of(const std::vector<Past>& past, double size_lines) {
  constexpr double nearly_all = 0.9;
  const Past& first = past.front();
  const Past* last = &past.back();
  while (last != &first && last->misses > nearly_all * size_lines) --last;
  return last == &first ? 0 : (last->misses - first.misses) / (last->lines - first.lines);
}

// Whether they do so, to `off` misses and what strangers leave open, which is less than half of what a line adds.
bool rise_by(double step, const std::vector<Past>& past, const Past& first, double size_lines, double off) {
  constexpr double deviations = 3;
  return std::ranges::all_of(past, [&](const Past& p) {
    const double expected = std::min(size_lines + p.lines, first.misses + step * (p.lines - first.lines));
    const double open = deviations * std::hypot(p.error, first.error);
    return 2 * open <= step && std::fabs(p.misses - expected) <= off + open;
  });
}

// Whether every line past `size` adds equally many misses, several, until all lines miss: the set that it falls into
// thrashes and all others don't. Then sets are full at once, and own lines have no part in where this begins; else they
// may have begun it, or sets that fill before the others.
Expected<bool> sets_thrash_in_turn(const SearchSpec& spec, double size, double line_bytes) {
  const double size_lines = size / line_bytes;
  std::vector<std::uint64_t> in_turn;
  for (std::uint64_t more = 0; static_cast<double>(more) * line_bytes <= own_bytes + line_bytes; ++more)
    in_turn.push_back(more);
  auto past = count_past(spec, size, line_bytes, in_turn);
  if (!past) return tl::unexpected<Error>(past.error());
  if (past->size() < 2) return false;
  const Past first = past->front();
  const double step = std::round(step_of(*past, size_lines));
  if (step < 2 || !rise_by(step, *past, first, size_lines, 0.5)) return false;
  // A set's lines and one more miss, so there are as many sets as that many lines are in what fits.
  const double sets = size_lines / (step - 1);
  std::vector<std::uint64_t> on;
  for (const double part : {0.25, 0.5, 0.75, 1.0}) on.push_back(static_cast<std::uint64_t>(std::round(part * sets)));
  if (size + static_cast<double>(on.back()) * line_bytes > static_cast<double>(spec.limit_bytes)) return false;
  auto further = count_past(spec, size, line_bytes, on);
  if (!further) return tl::unexpected<Error>(further.error());
  return rise_by(step, *further, first, size_lines, step / 2);
}

// Where processes take turns on the GPU the longest program first: what it doesn't get through, none of the others can
// say, and they take many tries, too.
Expected<SearchResult> search_banks(Session& session, const SearchSpec& spec) {
  if (session.disturbance().switches != 0)
    if (auto longest = spec.count({{spec.limit_bytes, 1}}, 1); !longest) return tl::unexpected<Error>(longest.error());
  return search_capacity(session, spec);
}

// Of what fits in the banks of several modules, what the kernels' own lines have no part in.
Expected<Estimate> within_own_bytes(const SearchSpec& spec, const SearchResult& found, const CacheFacts& cache) {
  Estimate size = estimate_of(found, "modules");
  leave_out_front(size, found.counts, cache.stride());
  if (size.status != Status::measured) return size;
  // The first lines too many may miss as rarely as the kernels' own lines do: so much less fits for sure.
  const auto surely = [&](std::string_view why) {
    Estimate least = size;
    bound_below(least, why);
    if (least.value) *least.value -= static_cast<double>(own_bytes);
    return least;
  };
  if (*size.value > static_cast<double>(spec.limit_bytes - own_bytes - cache.stride()))
    return surely("the constants that there are end here, and the kernel's own lie beside them");
  const auto in_turn = sets_thrash_in_turn(spec, *size.value, static_cast<double>(cache.stride()));
  if (!in_turn) return tl::unexpected<Error>(in_turn.error());
  if (*in_turn) return size;
  return surely("so much fits; the kernel's own code and constants, or sets that fill unevenly, may hide the rest");
}

// Ways of the sets that the first lines past what fits fall into, at least: in a set that goes by use or age one too
// many misses with all that were there. Where others are lost each time there may be one.
Expected<double> least_ways(const SearchSpec& spec, double size, double line_bytes) {
  constexpr double deviations = 3;
  const auto past = count_past(spec, size, line_bytes, {0, 1, 2, 3, 4});
  if (!past) return tl::unexpected<Error>(past.error());
  if (past->size() < 2) return 1;
  const Past first = past->front(), last = past->back();
  const double off = deviations * std::hypot(first.error, last.error) / (last.lines - first.lines);
  return std::max(1.0, std::floor((last.misses - first.misses) / (last.lines - first.lines) - off) - 1);
}

struct InOneBank {
  Estimate size;
  bool all_fits = false;   // and where it ends others may show
  std::uint64_t fill = 0;  // bytes to walk so that it overflows; 0: unknown
};

// By what fits into one bank, and by what is held of more; alone that doesn't tell where lines of the L2 `may_be_far`,
// and near ones as near as this cache's.
Expected<InOneBank> size_in_one_bank(Session& session, const CacheFacts& cache, bool may_be_far) {
  const SearchSpec spec = constant_spec(session, cache, false);
  auto found = search_capacity(session, spec);
  if (!found) return tl::unexpected<Error>(found.error());
  Estimate fits = estimate_of(*found, "misses");
  leave_out_front(fits, found->counts, cache.stride());
  const bool all_fits = fits.status == Status::lower_bound;
  if (fits.status != Status::measured && fits.status != Status::inconclusive) return InOneBank{fits, all_fits};
  const auto about = static_cast<std::uint64_t>(found->posterior.footprints_bytes[found->posterior.best()]);
  auto agreed = agree_by_count(session, cache, fits, found->counts, about, Scope::gpu);
  if (!agreed) return tl::unexpected<Error>(agreed.error());
  InOneBank result{agreed->size};
  const auto line = static_cast<double>(cache.stride());
  if (fits.status == Status::measured && agreed->size.status == Status::lower_bound && agreed->held) {
    auto in_turn = if_available(sets_thrash_in_turn(spec, *fits.value, line));
    if (!in_turn) return tl::unexpected<Error>(in_turn.error());
    if (in_turn->value_or(false)) {
      result.size = fits;
    } else {
      auto ways = if_available(least_ways(spec, *fits.value, line));
      if (!ways) return tl::unexpected<Error>(ways.error());
      agreed->held->least_ways = ways->value_or(1);
      if (agreed->held->least_ways > 1) result.size = agreed_size(fits, agreed->held, line);
    }
  }
  if (may_be_far && fits.status != Status::measured && result.size.status == Status::lower_bound)
    result.size = inconclusive("B", fits.method, "what is held is no more than near lines of the L2 may look like");
  bound_by_lines(result.size, cache.stride(), cache.levels);
  result.fill = bytes_to_fill(result.size, agreed->held) / cache.stride() * cache.stride();
  return result;
}

// Whether what lies in the middle of a sector was there still when the sector was looked for, pushed out by less than
// twice what the cache holds: then it is found without anything having brought it in.
Expected<bool> were_parts_there(Session& session, Findings& findings, const CacheFacts& cache) {
  const Estimate& size = findings.memory("constant_l1_5").attributes["size"];
  const bool is_far_more = size.status == Status::measured && size.interval &&
                           2 * size.interval->high <= static_cast<double>(cache.pushed_out_by_bytes);
  if (is_far_more || cache.sector_bytes <= cache.front_line_bytes) return false;
  const device::DeviceInfo& info = session.info();
  const std::uint64_t near = findings.cache("constant_l1")->circle_bytes();
  const auto evictions = evictions_of(info, near, findings.near_l2_bytes(info));
  const auto pushed = std::find_if(evictions.begin(), evictions.end(), [&](const Eviction& e) {
    return near + e.bytes(info.constant_bytes_per_module) == cache.pushed_out_by_bytes;
  });
  if (pushed == evictions.end()) return false;
  // Of sectors' starts as many may be there still, whose parts are as likely lost: those are there where half as many
  // were lost at most.
  std::size_t lost[2] = {0, 0};
  for (const bool is_middle : {false, true}) {
    auto looks = if_available(time_cold(session, cache.sector_bytes, cache.front_line_bytes, *pushed, nullptr,
                                        is_middle ? cache.sector_bytes / 2 : 0));
    if (!looks) return tl::unexpected<Error>(looks.error());
    if (!*looks) return true;
    for (const double cycles : undisturbed_by_line(std::move(**looks)))
      lost[is_middle] += cycles >= cache.levels.threshold_cycles ? 1 : 0;
  }
  return 2 * lost[1] < lost[0];
}

Expected<void> measure_size_and_line(Session& session, Findings& findings, CacheFacts* cache) {
  auto& attributes = findings.memory("constant_l1_5").attributes;
  const device::DeviceInfo& info = session.info();
  const std::uint64_t bank = info.constant_bytes_per_module;
  auto in_one_bank = size_in_one_bank(session, *cache, findings.may_lines_be_far());
  if (!in_one_bank) return tl::unexpected<Error>(in_one_bank.error());
  Estimate size = in_one_bank->size;
  if (in_one_bank->all_fits && info.constant_modules > 1) {
    const SearchSpec spec = constant_spec(session, *cache, true);
    auto beyond = search_banks(session, spec);
    // Where kernels don't run side by side (a debugger, CUDA_LAUNCH_BLOCKING), one bank is all there is.
    if (!beyond && beyond.error().kind != Error::Kind::unavailable) return tl::unexpected<Error>(beyond.error());
    if (!beyond) {
      size.note += "; the banks of several modules can't be walked here: " + beyond.error().message;
    } else {
      const auto larger = within_own_bytes(spec, *beyond, *cache);
      if (!larger) return tl::unexpected<Error>(larger.error());
      if (larger->has_value() && *larger->value >= *size.value) {
        size = *larger;
        cache->bank_bytes = bank;
      }
    }
  }
  if (size.has_value() && *size.value >= static_cast<double>(cache->pushed_out_by_bytes)) {
    // More fits than what pushed lines out: something else made those slow, another side of the L2 or its TLBs.
    attributes.clear();
    set_open(findings.memory("constant_l1_5"), "modules",
             fmt::format("constants are slower behind {} KiB of others, and yet {:.0f} KiB fit",
                         cache->pushed_out_by_bytes >> 10, *size.value / 1024));
    cache->present = false;
    return {};
  }
  attributes["size"] = size;
  if (size.status == Status::measured || size.status == Status::lower_bound)
    cache->capacity_bytes = static_cast<std::uint64_t>(*size.value);
  const Estimate& sector = attributes["sector_size"];
  Estimate& line_size = attributes["line_size"] =
      inconclusive("B", "cold_misses", "the constants that there are don't tell how much a line has");
  if (sector.status == Status::measured) {
    line_size = sector;
    line_size.status = Status::lower_bound;
    line_size.interval.reset();
    line_size.note = "what one miss brings in; the constants that there are don't tell whether a line has more";
  }
  std::uint64_t fill = size.status == Status::measured ? cache->capacity_bytes : in_one_bank->fill;
  // A bound may do. Where others take turns on the GPU programs of several modules rarely get through.
  if (fill == 0 && session.disturbance().switches == 0) fill = cache->capacity_bytes;
  cache->line_bytes = cache->sector_bytes;
  if (fill == 0) return {};
  CacheFacts walked = *cache;
  // Twice as much is walked: where one bank hasn't got it, the banks of several.
  if (2 * fill > bank) walked.bank_bytes = bank;
  auto line = if_available(measure_line(session, walked, fill, Scope::gpu));
  if (!line) return tl::unexpected<Error>(line.error());
  if (!*line || !(*line)->has_value()) {
    line_size.note += ": " + (*line ? (*line)->note : std::string("a neighbour on the GPU left no time to ask"));
    return {};
  }
  line_size = **line;
  cache->line_bytes = static_cast<std::uint64_t>(*line_size.value);
  return {};
}

}  // namespace

Expected<void> measure_constant_l1_5_size(Session& session, Findings& findings) {
  CacheFacts* cache = findings.cache("constant_l1_5");
  if (cache == nullptr || !cache->present) return {};
  if (auto ok = measure_size_and_line(session, findings, cache); !ok || !cache->present) return ok;
  auto were_there = were_parts_there(session, findings, *cache);
  if (!were_there) return tl::unexpected<Error>(were_there.error());
  if (!*were_there) return {};
  // What one loses and the other keeps are two lines, and none is shorter than those of the cache in front.
  const std::uint64_t most_bytes = cache->sector_bytes / 2;
  Estimate& sector = findings.memory("constant_l1_5").attributes["sector_size"];
  sector.value = static_cast<double>(most_bytes);
  sector.interval.reset();
  bound_above(sector, "what lies between the constants that were pushed out was there still");
  cache->sector_bytes = most_bytes == cache->front_line_bytes ? most_bytes : 0;
  cache->line_bytes = cache->bank_bytes = cache->capacity_bytes = 0;
  return measure_size_and_line(session, findings, cache);
}

}  // namespace gputopo::experiments
