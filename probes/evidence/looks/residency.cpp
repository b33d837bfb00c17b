#include "evidence/looks/residency.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "evidence/inference/vote.hpp"

namespace gputopo::evidence {
namespace {

using program::Record;
using program::Walk;

// Of the capacity, walked: more than it is off by, and little, to fit between two turns of other processes.
constexpr std::array<std::uint64_t, 3> sixteenths{17, 18, 19};
constexpr double wrong_in_all = 0.01;  // sectors taken for there or for lost, in a count

struct Looks {
  std::size_t times = 1, enough = 1;  // at each sector, and that have to find it near
};

// The fewest of which one sector in all is judged wrongly once in a hundred counts: strangers hide a sector that is
// there now and then, and the next level is sometimes as fast as a hit.
Looks looks_at_a_sector(const Levels& levels, double there, double lost) {
  constexpr std::size_t most_times = 9;
  Looks best;
  double least = 1e300;
  for (std::size_t times = 1; times <= most_times && least > wrong_in_all; times += 2)
    if (const Vote vote = best_vote(times, there, levels.false_miss, lost, levels.false_hit); vote.wrong < least)
      least = vote.wrong, best = {times, vote.enough};
  return best;
}

constexpr std::size_t most_wrong = 16;   // of a count: one is wrong less than once on average
constexpr std::uint64_t most_apart = 4;  // so counts that differ by more are of another kind, or of too many wrong ones
using Chances = std::array<double, most_wrong>;

Chances poisson(double mean) {
  Chances p;
  p[0] = std::exp(-mean);
  for (std::size_t n = 1; n < most_wrong; ++n) p[n] = p[n - 1] * mean / static_cast<double>(n);
  return p;
}

// How likely counts are where so many are there. The more was walked the more is lost and may look like a hit: `faked`
// by footprint.
double likelihood(std::span<const std::uint64_t> counts, std::uint64_t there, const Chances& hidden,
                  std::span<const Chances> faked_chances) {
  double product = 1;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::uint64_t count = counts[i];
    const Chances& faked = faked_chances[i * faked_chances.size() / counts.size()];
    double p = 1e-12;  // of what neither explains
    const std::size_t more = count > there ? count - there : 0, fewer = there > count ? there - count : 0;
    for (std::size_t both = 0; both + std::max(more, fewer) < most_wrong; ++both)
      p += faked[more + both] * hidden[fewer + both];
    product *= p;
  }
  return product;
}

// Sectors that are there, of counts that each lack some by strangers and have some more by loads of the next level that
// look like hits: the likeliest number. What was seen of these beforehand was few loads in thousands or none, so either
// may be as frequent as a sample leaves open or as rare as can be (uniform in its logarithm): the counts say it.
struct LikelyCount {
  std::uint64_t number = 0;
  double probability = 0;
};

LikelyCount likely_count(std::span<const std::uint64_t> counts, double hidden, double faked) {
  constexpr std::array<double, 9> of_the_mean{0.0625, 0.125, 0.25, 0.5, 1, 2, 4, 8, 16};
  const auto [low, high] = std::minmax_element(counts.begin(), counts.end());
  if (*high - *low > most_apart) return {*high, 0};
  std::vector<double> odds(*high - *low + 1);
  for (const double h : of_the_mean)
    for (const double f : of_the_mean) {
      const Chances few = poisson(h * hidden);
      std::array<Chances, sixteenths.size()> more;
      for (std::size_t i = 0; i < more.size(); ++i)
        more[i] = poisson(f * faked * static_cast<double>(sixteenths[i] - 16));
      for (std::size_t i = 0; i < odds.size(); ++i) odds[i] += likelihood(counts, *low + i, few, more);
    }
  const auto best = std::max_element(odds.begin(), odds.end());
  return {*low + static_cast<std::uint64_t>(best - odds.begin()),
          *best / std::accumulate(odds.begin(), odds.end(), 0.0)};
}

// Whole pages, or of a small cache what tells the three apart: what is lost must grow from one to the next.
std::uint64_t overflowing(std::uint64_t capacity_bytes, std::uint64_t part) {
  constexpr std::uint64_t page = 4096, sector = 32;
  const std::uint64_t unit = std::clamp(std::bit_floor(capacity_bytes / 32), sector, page);
  return (capacity_bytes * part / 16 / unit + 1) * unit;
}

// Phases that record every load of [0, bytes), split where one recording ends.
void add_looks(program::Program& p, Walk look, std::uint64_t bytes, std::uint64_t most_loads, std::size_t times) {
  const std::uint64_t chunk = std::max<std::uint64_t>(1, most_loads) * look.stride_bytes;
  std::vector<Walk> parts;
  for (std::uint64_t from = 0; from < bytes; from += chunk) {
    look.first_byte = from;
    look.footprint_bytes = std::min(chunk, bytes - from);
    parts.insert(parts.end(), times, recorded(look, Record::latencies, 1));
  }
  p.phases.insert(p.phases.end(), parts.begin(), parts.end());
}

// Positions that enough of their looks found near, of which each stretch of the program has as many in a row.
std::uint64_t found(const program::ProgramTrace& trace, double threshold_cycles, const Looks& looks) {
  std::vector<std::size_t> fast;
  std::size_t begin = 0, look = 0;
  for (const program::PhaseTrace& phase : trace.phases) {
    if (phase.latencies.empty()) continue;
    fast.resize(std::max(fast.size(), begin + phase.latencies.size()));
    for (std::size_t i = 0; i < phase.latencies.size(); ++i)
      fast[begin + i] += phase.latencies[i] < threshold_cycles ? 1 : 0;
    if (++look % looks.times == 0) begin += phase.latencies.size();
  }
  return static_cast<std::uint64_t>(
      std::count_if(fast.begin(), fast.end(), [&](std::size_t times) { return times >= looks.enough; }));
}

struct Probe {
  const CacheFacts& cache;
  std::uint64_t about_bytes = 0, shared_bytes = 0;
  std::uint64_t sector() const { return std::max<std::uint64_t>(4, cache.sector_bytes); }
};

struct Near {
  std::vector<std::uint64_t> sectors;  // by program, `sixteenths` in turn
  std::uint64_t samples = 0;
};

// Sectors found near at each footprint: by single counts, `programs` a footprint, or by several looks at each sector.
Expected<Near> look(Session& session, const Probe& probe, std::size_t programs, const std::optional<Looks>& looks) {
  const CacheFacts& cache = probe.cache;
  program::Batch batch;
  for (const std::uint64_t part : sixteenths) {
    const std::uint64_t bytes = overflowing(probe.about_bytes, part);
    program::Program p =
        make_program(fmt::format("{} residency {} B", cache.path.id, bytes), session.info(), cache.path.slot);
    if (probe.shared_bytes != 0) p.buffers.push_back({program::Space::shared, probe.shared_bytes, 0});
    Walk walk = make_walk(cache.path, bytes, probe.sector(), 1);
    p.phases = {walk};  // one load after another: of several at once some push out what hasn't arrived yet
    walk.path = program::Path::global_no_allocate;
    if (looks)
      add_looks(p, walk, bytes, session.info().largest_recording, looks->times);
    else
      p.phases.emplace_back(recorded(walk, Record::histogram, 1));
    batch.insert(batch.end(), programs, p);
  }
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  Near near;
  for (const program::ProgramTrace& trace : *traces) {
    const auto& timed = trace.phases.back().histogram;
    near.sectors.push_back(looks ? found(trace, cache.levels.threshold_cycles, *looks)
                                 : total(timed) - count_from(timed, cache.levels.threshold_cycles));
    near.samples += total(timed);
    for (const program::PhaseTrace& phase : trace.phases) near.samples += phase.latencies.size();
  }
  return near;
}

// Lines near after twice as many as `about_bytes` were walked. Sets that more lines still fill weren't full: a cache
// that others leave full may keep fewer of what seems to fit than it has room for.
Expected<std::uint64_t> look_at_twice(Session& session, const Probe& probe) {
  const CacheFacts& cache = probe.cache;
  const std::uint64_t bytes = overflowing(probe.about_bytes, 32);
  program::Program p =
      make_program(fmt::format("{} residency {} B by lines", cache.path.id, bytes), session.info(), cache.path.slot);
  const Walk walk = make_walk(cache.path, bytes, cache.stride(), 1);
  Walk look = recorded(walk, Record::histogram, 1);
  look.path = program::Path::global_no_allocate;
  p.phases = {walk, look};
  auto traces = session.run({p});
  if (!traces) return tl::unexpected<Error>(traces.error());
  const Histogram& timed = traces->front().phases.back().histogram;
  return total(timed) - count_from(timed, cache.levels.threshold_cycles);
}

// Whether there are so many lines that those too many aren't by chance loads of the next level that look like hits.
bool is_surely_more(double lines, double than, double walked, double false_hit) {
  constexpr double deviations = 4;
  const double faked = (walked - than) * false_hit;
  return lines > than + faked + deviations * std::sqrt(faked) + 1;
}

}  // namespace

bool Residency::is_steady() const {
  // A walk leaves something, whatever is replaced. Looks that find none of it don't see this path's lines: where tags
  // are of kinds of loads, as of textures.
  return held_bytes != 0 && !bytes.empty() &&
         std::all_of(bytes.begin(), bytes.end(), [&](std::uint64_t b) { return b == held_bytes; });
}

Expected<Residency> count_resident(Session& session, const CacheFacts& cache, std::uint64_t about_bytes,
                                   std::uint64_t shared_bytes) {
  constexpr std::size_t counts = 5;
  const Probe probe{cache, about_bytes, shared_bytes};
  const double there = static_cast<double>(about_bytes) / static_cast<double>(probe.sector());
  const double lost = there * (sixteenths.back() - 16) / 16;
  // Single counts first: writing several looks' results costs lines on a real GPU.
  auto single = look(session, probe, counts, std::nullopt);
  if (!single) return tl::unexpected<Error>(single.error());
  // More than none, which is beyond what a sample says.
  const double hidden = std::max(1e-9, there * cache.levels.false_miss);
  const double faked = std::max(1e-9, there / 16 * cache.levels.false_hit);  // in each sixteenth too many
  const LikelyCount all = likely_count(single->sectors, hidden, faked);
  Residency r;
  r.samples = single->samples;
  r.held_bytes = all.number * probe.sector();
  constexpr double surely = 0.995;  // some fifteen counts in a discovery, none of which may be wrong
  if (all.probability > surely) {
    r.bytes.assign(sixteenths.size(), r.held_bytes);
  } else {
    auto several = look(session, probe, 1, looks_at_a_sector(cache.levels, there, lost));
    if (!several) return tl::unexpected<Error>(several.error());
    r.samples += several->samples;
    for (const std::uint64_t sectors : several->sectors) r.bytes.push_back(sectors * probe.sector());
    r.held_bytes = *std::max_element(r.bytes.begin(), r.bytes.end());
  }
  if (shared_bytes != 0 || !r.is_steady()) return r;
  auto of_twice = look_at_twice(session, probe);
  if (!of_twice) return tl::unexpected<Error>(of_twice.error());
  const auto line = static_cast<double>(cache.stride());
  const double walked = static_cast<double>(overflowing(about_bytes, 32)) / line;
  if (is_surely_more(static_cast<double>(*of_twice), static_cast<double>(r.held_bytes) / line, walked,
                     cache.levels.false_hit))
    r.bytes.push_back(*of_twice * cache.stride());
  return r;
}

}  // namespace gputopo::evidence
