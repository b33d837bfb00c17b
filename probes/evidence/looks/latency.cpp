#include "evidence/looks/latency.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include <fmt/format.h>

#include "change_point/random.hpp"
#include "change_point/robust.hpp"
#include "evidence/inference/curves.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/inference/levels.hpp"
#include "evidence/inference/modes.hpp"

namespace gputopo::evidence {
namespace {

using program::Record;

// Two lines round and round fit into every cache, whatever its sets; neighbouring loads of one line are served faster
// by some. Lines of several places, since some may share a set of one way.
constexpr std::uint64_t lines_at_a_place = 2;
constexpr std::uint64_t apart_bytes = 192;
// Kernels follow a chase eight loads at a time, so these laps differ by loads that hit and nothing else: what is lost
// between laps is lost before both.
constexpr std::uint64_t short_loads = 8;
constexpr std::uint64_t long_loads = 16;
constexpr std::uint32_t laps = 112;
constexpr std::uint32_t least_laps = 7;         // of seven places 49, whose quarter still has an interval
constexpr std::size_t latency_repetitions = 7;  // each in a place of its own

constexpr double fewest_laps = 10;  // that order statistics take an interval from

// Single loads but for those that something made slow: another program's traffic, or lines that it pushed out.
struct Swift {
  double quartile = 0;
  double share = 1;          // of all loads
  double fine_quartile = 0;  // as though loads of a cycle were spread over it: a few more don't move it by a whole one
  double middle = 0;
  // Of laps of `loads` loads the share below which half of those without a slow one lie, or a quarter of all.
  double laps(double loads) const { return std::min(undisturbed_share, std::pow(share, loads) / 2); }
};

bool fill_laps(const Swift& swift, std::size_t count) {
  return static_cast<double>(count) * swift.laps(long_loads) >= fewest_laps;
}

Swift swift_of(const Histogram& timed) {
  const double quartile = lowest_mode(timed).low_quartile;
  const Histogram swift = between(timed, 0, quartile + least_fence_cycles);
  const double at = undisturbed(swift).value_or(0);
  const auto n = static_cast<double>(total(swift)), below = n - static_cast<double>(count_from(swift, at));
  const double there = std::max(1.0, static_cast<double>(total(between(swift, at, at + 1))));
  constexpr double half_a_cycle = 0.5;
  return {at, n / static_cast<double>(std::max<std::uint64_t>(1, total(timed))),
          at - half_a_cycle + (undisturbed_share * n - below) / there, middle_half(values(swift))};
}

struct Quantile {
  double value = 0, below = 0, above = 0;  // and how far it may be off on either side, 95 %
};

Quantile undisturbed_of(std::vector<double> cycles, double share) {
  std::sort(cycles.begin(), cycles.end());
  const auto n = static_cast<double>(cycles.size());
  const double reach = 1.96 * std::sqrt(n * share * (1 - share));  // ranks: normal limit of the binomial
  const auto at = [&](double rank) { return cycles[static_cast<std::size_t>(std::clamp(rank, 0.0, n - 1))]; };
  const double value = at(std::floor(n * share));
  return {value, value - at(std::floor(n * share - reach)), at(std::ceil(n * share + reach)) - value};
}

struct Mean {
  double value = 0, error = 0;  // 95 %
};

Mean mean_of(std::span<const double> numbers) {
  const auto n = static_cast<double>(std::max<std::size_t>(1, numbers.size()));
  const double mean = std::accumulate(numbers.begin(), numbers.end(), 0.0) / n;
  double square = 0;
  for (const double x : numbers) square += (x - mean) * (x - mean);
  return {mean, 1.96 * std::sqrt(square / std::max(1.0, n - 1) / n)};
}

// One place, seen by one SM, which may be near to it or far.
struct Place {
  std::vector<double> shorter, longer;  // cycles of laps
  Histogram timed;                      // the longer laps' loads
  Swift swift;
};

constexpr double of_a_median = 1.25;  // its error in a mean's, of normal numbers

// What a lap of 2n loads takes longer than one of n, a load. Both vary by themselves: they add in squares.
Quantile longer_by(const Place& place) {
  constexpr double loads = long_loads - short_loads;
  const Quantile shorter = undisturbed_of(place.shorter, place.swift.laps(short_loads));
  const Quantile longer = undisturbed_of(place.longer, place.swift.laps(long_loads));
  return {(longer.value - shorter.value) / loads, std::hypot(longer.below, shorter.above) / loads,
          std::hypot(longer.above, shorter.below) / loads};
}

// The middle one of all places; and laps of different places aren't compared, which may be near and far.
Estimate difference_of(const std::vector<Place>& places) {
  constexpr std::string_view method = "undisturbed_laps";
  std::vector<double> by_place;
  double below = 0, above = 0;
  std::size_t samples = 0;
  for (const Place& place : places) {
    if (place.shorter.empty() || place.longer.empty()) continue;
    const Quantile one = longer_by(place);
    by_place.push_back(one.value);
    below += one.below * one.below;
    above += one.above * one.above;
    samples += place.shorter.size() * short_loads + place.longer.size() * long_loads;
  }
  if (by_place.empty()) return inconclusive("cycles", method, "no laps were timed");
  const double apart = mean_of(by_place).error;
  const auto n = static_cast<double>(by_place.size());
  // Whole cycles of both laps, which are the same in every place: a half each.
  constexpr double clock = std::numbers::sqrt2 / 2 / (long_loads - short_loads);
  Estimate e = measured(median(by_place), "cycles", method, samples);
  e.interval = Interval{*e.value - clock - of_a_median * std::hypot(std::sqrt(below) / n, apart),
                        *e.value + clock + of_a_median * std::hypot(std::sqrt(above) / n, apart)};
  return e;
}

// Each longer lap by itself, less what a shorter one of the same place takes: a load of those that it has more.
DecidingCurve laps_curve(std::string_view memory, const std::vector<Place>& places, const Estimate& answer) {
  constexpr double loads = long_loads - short_loads;
  std::vector<double> a_load;
  for (const Place& place : places) {
    if (place.shorter.empty()) continue;
    const double shorter = undisturbed_of(place.shorter, place.swift.laps(short_loads)).value;
    for (const double cycles : place.longer) a_load.push_back((cycles - shorter) / loads);
  }
  if (a_load.empty()) return {};
  return numbers_curve(memory, "latency", {"cycles a load, of 8 more a lap", "cycles", false}, "laps of 16 loads",
                       std::move(a_load), answer);
}

// Laps of n and of 2n loads, then the same loads each timed.
program::Program lap_program(program::Program p, program::Walk walk, std::uint32_t times) {
  walk.loads_per_lap = long_loads;
  walk.laps = 2;
  p.phases = {walk};
  for (const std::uint64_t loads : {short_loads, long_loads}) {
    walk.loads_per_lap = loads;
    p.phases.emplace_back(recorded(walk, Record::lap_times, times));
  }
  if (walk.path != program::Path::shared) p.phases.emplace_back(recorded(walk, Record::histogram, times));
  return p;
}

struct Overhead {
  double cycles = 0, error = 0;  // 95 %
  double quartile = 0;           // the part of it by which loads' lower quartile lies above their middle
  double fine_quartile = 0;      // the same of that one
};

// Laps as loads that were timed one by one make them up, drawn at random.
std::vector<double> made_up_laps(const Histogram& timed) {
  constexpr std::size_t made_up = 16 * laps;  // they add little to the error of the laps that they are held against
  const std::vector<double> loads = values(timed);
  change_point::Random random(0x1a95);
  std::vector<double> sums(made_up);
  for (double& sum : sums)
    for (std::uint64_t i = 0; i < long_loads; ++i) sum += loads[random.below(loads.size())];
  return sums;
}

// What the clocks add to a load, in one place: laps of loads with a clock around each less laps without, by their lower
// quartiles, which few slow loads leave alone, or by their means, which have no gaps to fall into: as is surer.
Overhead overhead_of(const Place& place) {
  if (place.timed.empty() || place.longer.empty()) return {};
  constexpr double loads = long_loads;
  const Quantile with = undisturbed_of(made_up_laps(place.timed), undisturbed_share);
  const Quantile without = undisturbed_of(place.longer, undisturbed_share);
  const Mean load = mean_of(values(place.timed)), lap = mean_of(place.longer);
  const Overhead by_laps{
      .cycles = (with.value - without.value) / loads,
      .error = std::hypot(std::max(with.below, with.above), std::max(without.below, without.above)) / loads};
  const Overhead by_means{.cycles = load.value - lap.value / loads, .error = std::hypot(load.error, lap.error / loads)};
  Overhead surer = by_laps.error < by_means.error ? by_laps : by_means;
  // Loads are told by their lower quartile, which lies so much beside the centre of those that nothing made slow.
  surer.quartile = place.swift.quartile - place.swift.middle;
  surer.fine_quartile = place.swift.fine_quartile - place.swift.middle;
  surer.cycles += surer.quartile;
  return surer;
}

// The middle one of all places.
Overhead overhead_of(const std::vector<Place>& places) {
  std::vector<double> cycles, quartiles, fine_quartiles;
  double squares = 0;
  for (const Place& place : places) {
    const Overhead o = overhead_of(place);
    cycles.push_back(o.cycles), quartiles.push_back(o.quartile), fine_quartiles.push_back(o.fine_quartile);
    squares += o.error * o.error;
  }
  return {median(cycles), of_a_median * std::sqrt(squares) / static_cast<double>(places.size()), median(quartiles),
          median(fine_quartiles)};
}

// Loads of all places as those of one.
struct Pooled {
  Histogram timed;
  Swift swift{0, 0, 0};
  std::size_t longer_laps = 0;
};

Pooled pool(const std::vector<Place>& places) {
  Pooled all;
  std::vector<double> quartiles, fine_quartiles;
  for (const Place& place : places) {
    all.timed = merged(all.timed, place.timed);
    all.longer_laps += place.longer.size();
    all.swift.share += place.swift.share / static_cast<double>(places.size());
    quartiles.push_back(place.swift.quartile), fine_quartiles.push_back(place.swift.fine_quartile);
  }
  all.swift.quartile = median(quartiles), all.swift.fine_quartile = median(fine_quartiles);
  return all;
}

// In as many laps as fit between two turns of other processes.
Expected<std::vector<program::ProgramTrace>> run_laps(Session& session, const program::Program& like,
                                                      program::Walk walk) {
  constexpr std::uint64_t next_place = 5 * apart_bytes;
  for (std::uint32_t times = laps;; times /= 4) {
    program::Batch batch;
    for (std::size_t i = 0; i < latency_repetitions; ++i) {
      walk.first_byte = i * next_place;
      batch.push_back(lap_program(like, walk, times));
    }
    auto traces = session.run(batch);
    const bool takes_too_long = !traces && traces.error().kind == Error::Kind::unavailable;
    if (!takes_too_long || times / 4 < least_laps) return traces;
  }
}

Expected<std::vector<Place>> time_laps(Session& session, const program::Program& like, const program::Walk& walk) {
  auto traces = run_laps(session, like, walk);
  if (!traces) return tl::unexpected<Error>(traces.error());
  std::vector<Place> places;
  for (const auto& trace : *traces) {
    const auto& shorter = trace.phases[1].lap_cycles;
    const auto& longer = trace.phases[2].lap_cycles;
    const Histogram& timed = trace.phases.back().histogram;
    places.push_back({{shorter.begin(), shorter.end()}, {longer.begin(), longer.end()}, timed, swift_of(timed)});
  }
  return places;
}

// Whether places differ by more than levels do, each by laps that nothing disturbed: at some of them lines are lost.
bool do_places_differ(const std::vector<Place>& places, double cycles) {
  std::vector<double> by_place;
  for (const Place& place : places)
    if (!place.shorter.empty() && !place.longer.empty()) by_place.push_back(longer_by(place).value);
  return of_a_median * mean_of(by_place).error > (least_ratio - 1) * cycles;
}

// Of loads that are slow more often than not nobody knows which ones hit; an error of half a level might be one.
Estimate by_single_loads(const Swift& swift, const Overhead& overhead, std::uint64_t samples) {
  constexpr std::string_view method = "single_loads";
  const double cycles = swift.fine_quartile - (overhead.cycles - overhead.quartile + overhead.fine_quartile);
  if (swift.share < 0.5 || overhead.error > (half_a_level - 1) * cycles)
    return inconclusive("cycles", method, "too many loads were slow, by lines that were lost or by others' traffic");
  Estimate e = measured(cycles, "cycles", method, samples);
  const double error = overhead.error + 0.5;  // and the clock's half cycle
  e.interval = Interval{cycles - error, cycles + error};
  return e;
}

// Whether laps take longer than the loads that hit: where lines are lost in turns no lap is without a lost one, however
// many loads are.
bool is_beyond(const Estimate& by_laps, const Estimate& single) {
  return by_laps.interval && single.interval && by_laps.interval->low > single.interval->high;
}

}  // namespace

Expected<LoadLatency> measure_load_latency(Session& session, const CachePath& path) {
  auto timed = time_laps(session, make_program(fmt::format("{} load", path.id), session.info(), path.slot),
                         make_walk(path, lines_at_a_place * apart_bytes, apart_bytes, 1));
  if (!timed) return tl::unexpected<Error>(timed.error());
  // Words of one sector by the lap and one by one: what the clock adds, wherever the sector lies. Loads past L1 are
  // timed as those that it answers are, which nobody else's traffic makes wait.
  constexpr std::uint64_t word_bytes = 4;
  CachePath near = path;
  if (near.path == program::Path::global_l2_only) near.path = program::Path::global_cached;
  auto words = time_laps(session, make_program(fmt::format("{} words", path.id), session.info(), path.slot),
                         make_walk(near, lines_at_a_place * word_bytes, word_bytes, 1));
  if (!words) return tl::unexpected<Error>(words.error());
  const Overhead overhead = overhead_of(*words);
  const Pooled all = pool(*timed);
  LoadLatency result;
  result.timed = all.timed;
  result.overhead_cycles = overhead.cycles;
  result.quartile_cycles = overhead.quartile;
  result.estimate = difference_of(*timed);
  result.cycles = result.estimate.value.value_or(0);
  DecidingCurve curve = laps_curve(path.id, *timed, result.estimate);
  const Estimate single = by_single_loads(all.swift, overhead, total(result.timed));
  if (!fill_laps(all.swift, all.longer_laps) || is_beyond(result.estimate, single)) {
    result.estimate = single;
    curve = make_curve(path.id, "latency", {"latency without the clock", "cycles", true}, share_axis("loads"));
    curve.series = {share_up_to("single loads", result.timed, overhead.cycles)};
    mark(curve, result.estimate);
  } else if (result.estimate.has_value() && do_places_differ(*timed, result.cycles)) {
    result.estimate =
        inconclusive("cycles", result.estimate.method, "places differ by more than levels do: some of them lose lines");
  }
  if (result.estimate.value) result.cycles = *result.estimate.value;
  session.keep(std::move(curve));
  return result;
}

Expected<Estimate> measure_shared_latency(Session& session) {
  program::Program p;
  p.label = "shared load";
  p.buffers = {{program::Space::shared, 8 << 10, 0}};
  program::Walk walk;
  walk.path = program::Path::shared;
  walk.footprint_bytes = lines_at_a_place * apart_bytes;
  walk.stride_bytes = apart_bytes;
  auto timed = time_laps(session, p, walk);
  if (!timed) return tl::unexpected<Error>(timed.error());
  for (Place& place : *timed) place.swift = {};  // its loads aren't timed one by one
  const Estimate latency = difference_of(*timed);
  session.keep(laps_curve("shared", *timed, latency));
  return latency;
}

Histogram histogram_of(const LooksByLine& looks) {
  Histogram all;
  for (const auto& of_line : looks)
    for (const std::uint32_t cycles : of_line) add(all, cycles);
  return all;
}

std::size_t lower_quartile_rank(std::size_t looks) {
  return static_cast<std::size_t>(static_cast<double>(looks) * undisturbed_share);
}

std::vector<double> undisturbed_by_line(LooksByLine looks) {
  std::vector<double> by_line;
  for (std::vector<std::uint32_t>& of_line : looks) {
    if (of_line.size() < fewest_looks) continue;
    std::sort(of_line.begin(), of_line.end());
    by_line.push_back(of_line[lower_quartile_rank(of_line.size())]);
  }
  return by_line;
}

std::optional<double> undisturbed(std::span<const program::LatencyCount> histogram) {
  return quantile(histogram, undisturbed_share);
}

Estimate without_clock(Estimate timed, double overhead_cycles) {
  if (timed.value) *timed.value -= overhead_cycles;
  if (timed.interval) timed.interval->low -= overhead_cycles, timed.interval->high -= overhead_cycles;
  return timed;
}

Estimate median_estimate(std::vector<double> numbers, double quantum, std::string_view unit, std::string_view method) {
  if (numbers.empty()) return inconclusive(unit, method, "nothing was measured");
  std::sort(numbers.begin(), numbers.end());
  Estimate e = measured(median(numbers), unit, method, numbers.size());
  const auto n = static_cast<double>(numbers.size());
  const double reach = 1.96 * std::sqrt(n) / 2;  // ranks: normal approximation of the binomial
  const auto at = [&](double rank) { return numbers[static_cast<std::size_t>(std::clamp(rank, 0.0, n - 1))]; };
  e.interval = Interval{at(std::floor(n / 2 - reach)) - quantum / 2, at(std::ceil(n / 2 + reach) - 1) + quantum / 2};
  return e;
}

double middle_half(std::vector<double> looks) {
  std::sort(looks.begin(), looks.end());
  const auto quarter = static_cast<std::ptrdiff_t>(looks.size() / 4);
  return std::accumulate(looks.begin() + quarter, looks.end() - quarter, 0.0) /
         static_cast<double>(static_cast<std::ptrdiff_t>(looks.size()) - 2 * quarter);
}

Estimate mean_estimate(std::span<const double> numbers, std::string_view unit, std::string_view method, double times) {
  if (numbers.empty()) return inconclusive(unit, method, "nothing was measured");
  const Mean mean = mean_of(numbers);
  const double error = times * mean.error + 0.5;  // and the clock's half cycle
  Estimate e = measured(mean.value, unit, method, numbers.size());
  e.interval = Interval{mean.value - error, mean.value + error};
  return e;
}

}  // namespace gputopo::evidence
