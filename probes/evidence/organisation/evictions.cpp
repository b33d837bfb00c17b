#include "evidence/organisation/evictions.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <boost/math/distributions/binomial.hpp>

#include "evidence/looks/footprint.hpp"

namespace gputopo::evidence {
namespace {

using program::Record;
using program::Walk;

constexpr std::uint64_t lines_of_a_short_program = 8192;  // some 2 ms: beside others it has to be short
// In each of many rounds: less than the second or two after which a GPU that draws a screen ends a kernel.
constexpr std::uint64_t lines_of_a_long_program = 16384;

double stranger_share(double false_miss) {
  return std::clamp(false_miss, 1e-5, 0.5);
}

}  // namespace

Evicted Evicted::of(const Missed& missed, std::size_t from, std::size_t count, double false_miss) {
  Evicted e{std::vector<std::uint32_t>(count, 0), static_cast<std::uint32_t>(missed.size()), count, false_miss};
  for (const std::vector<bool>& round : missed) {
    std::uint64_t in_this_round = 0;
    for (std::size_t i = 0; i < count; ++i) {
      e.misses[i] += round[from + i] ? 1 : 0;
      in_this_round += round[from + i] ? 1 : 0;
    }
    e.least = std::min(e.least, in_this_round);
  }
  return e;
}

double Evicted::in_a_round() const {
  return std::accumulate(misses.begin(), misses.end(), 0.0) / rounds;
}

double Evicted::lost_in_a_round() const {
  const double by_strangers = stranger_share(false_miss) * static_cast<double>(misses.size());
  const double lost = in_a_round() - by_strangers;
  return least > 0 && rounds * lost > 2 + 6 * std::sqrt(by_strangers * rounds) ? lost : 0;
}

double Evicted::always_lost() const {
  const auto always = static_cast<double>(std::count(misses.begin(), misses.end(), rounds));
  const double by_strangers = static_cast<double>(misses.size()) * std::pow(stranger_share(false_miss), rounds);
  return always - by_strangers > 1 + 6 * std::sqrt(by_strangers) ? always - by_strangers : 0;
}

std::vector<std::size_t> Evicted::lost(double few) const {
  const boost::math::binomial_distribution<> strangers(rounds, stranger_share(false_miss));
  const auto by_chance = [&](std::uint32_t times) {
    return static_cast<double>(misses.size()) * cdf(complement(strangers, times - 1));
  };
  std::uint32_t telling = 1;
  while (telling < rounds && by_chance(telling) > few) ++telling;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < misses.size(); ++i)
    if (misses[i] >= telling) places.push_back(i);
  return places;
}

std::uint64_t Evictions::room_lines() const {
  // Lines as far apart as those of a set are whose neighbours share it, too, up to eight.
  constexpr std::uint64_t times_capacity = 10;
  return std::min(session_->info().largest_buffer_bytes / 2 / cache_.line_bytes,
                  times_capacity * cache_.capacity_lines);
}

// All of them over the same memory.
program::Program Evictions::program() const {
  program::Program p = make_program("l2 set", session_->info(), slot_flush);
  p.isolation = Scope::gpu;
  p.agents = {{cache_.sm, 0}};
  p.buffers[slot_flush].size_bytes = std::max(room_lines() * cache_.line_bytes, slot_bytes);
  return p;
}

Walk Evictions::walk(std::uint64_t first, std::uint64_t lines, std::uint32_t laps) const {
  Walk walk = make_walk(l2_path, lines * cache_.line_bytes, cache_.line_bytes, laps);
  walk.first_byte = first * cache_.line_bytes;
  return walk;
}

// [first, end), of which some parts are looked at, in order.
program::Program Evictions::circle(std::uint64_t first, std::uint64_t end, std::span<const Part> looks,
                                   const Rounds& rounds) const {
  program::Program p = program();
  const std::uint64_t most = session_->info().largest_recording;
  const auto fast = [&](std::uint64_t from, std::uint64_t to, std::uint32_t laps) {
    if (from < to) p.phases.emplace_back(by_one_warp(walk(from, to - from, laps)));
  };
  fast(first, end, rounds.warm);
  for (std::uint32_t round = 0; round < rounds.recorded; ++round) {
    std::uint64_t done = first;
    for (const Part& part : looks) {
      fast(done, part.from, 1);
      for (std::uint64_t at = part.from; at < part.to; at += most)
        p.phases.emplace_back(recorded(walk(at, std::min(most, part.to - at), 1), Record::latencies, 1));
      done = part.to;
    }
    fast(done, end, 1);
  }
  return p;
}

Expected<std::vector<Missed>> Evictions::run(const program::Batch& programs, std::span<const std::size_t> places,
                                             const Rounds& rounds) {
  program::Batch batch;
  for (const program::Program& p : programs) batch.insert(batch.end(), rounds.programs, p);
  auto traces = session_->run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  std::vector<Missed> all(programs.size());
  for (const auto& trace : *traces)
    for (const auto& phase : trace.phases) loads_ += phase.loads;
  for (std::size_t i = 0; i < traces->size(); ++i) {
    Missed& missed = all[i / rounds.programs];
    const std::size_t count = places[i / rounds.programs];
    for (const auto& phase : (*traces)[i].phases)
      for (const std::uint32_t cycles : phase.latencies) {
        if (missed.empty() || missed.back().size() == count) missed.emplace_back();
        missed.back().push_back(cycles >= cache_.threshold_cycles);
        ++samples_;
      }
  }
  return all;
}

Expected<std::vector<Evicted>> Evictions::all_of(const program::Batch& programs, std::span<const std::size_t> places) {
  auto missed = run(programs, places, rounds_);
  if (!missed) return tl::unexpected<Error>(missed.error());
  std::vector<Evicted> all;
  for (std::size_t i = 0; i < programs.size(); ++i)
    all.push_back(Evicted::of((*missed)[i], 0, places[i], cache_.false_miss));
  return all;
}

Expected<Evictions::Sample> Evictions::sample_of(std::uint64_t first, std::uint64_t lines, const Rounds& rounds) {
  constexpr std::uint64_t some = 1024, parts = 16;
  const std::uint64_t last = std::min(lines, some), before = lines - last, each = std::min(some, before) / parts;
  std::vector<Part> looks;
  for (std::uint64_t i = 0; i < parts && each != 0; ++i)
    looks.push_back({first + before / parts * i, first + before / parts * i + each});
  looks.push_back({first + before, first + lines});
  const std::uint64_t spread = parts * each;
  auto missed = run({circle(first, first + lines, looks, rounds)}, std::vector<std::size_t>{spread + last}, rounds);
  if (!missed) return tl::unexpected<Error>(missed.error());
  return Sample{Evicted::of(missed->front(), 0, spread, cache_.false_miss),
                Evicted::of(missed->front(), spread, last, cache_.false_miss)};
}

Expected<Evicted> Evictions::of_circle(std::uint64_t first, std::uint64_t lines) {
  const std::uint64_t at_once = rounds_.programs > 1 ? lines_of_a_short_program : lines_of_a_long_program;
  program::Batch programs;
  std::vector<std::size_t> counts;
  for (std::uint64_t done = 0; done < lines; done += at_once) {
    counts.push_back(std::min(lines - done, at_once));
    const Part part{first + done, first + done + counts.back()};
    programs.push_back(circle(first, first + lines, std::span(&part, 1), rounds_));
  }
  auto parts = run(programs, counts, rounds_);
  if (!parts) return tl::unexpected<Error>(parts.error());
  Missed all(rounds_.looks());
  for (const Missed& part : *parts)
    for (std::size_t i = 0; i < all.size(); ++i) all[i].insert(all[i].end(), part[i].begin(), part[i].end());
  return Evicted::of(all, 0, lines, cache_.false_miss);
}

Expected<std::vector<Evicted>> Evictions::of_lists(std::span<const std::vector<std::uint64_t>> lists) {
  constexpr std::size_t most_phases = 1 << 19;  // that are kept at once, 100 MB of them
  std::vector<Evicted> all;
  for (std::size_t done = 0; done < lists.size();) {
    program::Batch programs;
    std::vector<std::size_t> counts;
    for (std::size_t phases = 0; done < lists.size() && phases < most_phases; ++done) {
      counts.push_back(lists[done].size());
      programs.push_back(program());
      for (std::uint32_t round = 0; round < rounds_.warm + rounds_.recorded; ++round)
        for (const std::uint64_t line : lists[done])
          programs.back().phases.emplace_back(round < rounds_.warm ? walk(line, 1, 1)
                                                                   : recorded(walk(line, 1, 1), Record::latencies, 1));
      phases += programs.back().phases.size();
    }
    auto some = all_of(programs, counts);
    if (!some) return some;
    all.insert(all.end(), some->begin(), some->end());
  }
  return all;
}

Expected<std::vector<Evicted>> Evictions::of_steps(std::span<const std::uint64_t> firsts, std::uint64_t apart,
                                                   std::uint64_t count) {
  program::Batch programs;
  for (const std::uint64_t first : firsts) {
    Walk steps = walk(first, 1, rounds_.warm);
    steps.stride_bytes = apart * cache_.line_bytes;
    steps.footprint_bytes = count * steps.stride_bytes;
    programs.push_back(program());
    programs.back().phases = {steps};
    programs.back().phases.insert(programs.back().phases.end(), rounds_.recorded,
                                  recorded(steps, Record::latencies, 1));
  }
  return all_of(programs, std::vector<std::size_t>(firsts.size(), count));
}

Expected<std::vector<std::vector<bool>>> Evictions::of_sequence(std::span<const std::uint64_t> lines,
                                                                std::span<const std::uint32_t> sequence,
                                                                std::size_t looks) {
  program::Program p = program();
  p.phases.emplace_back(others_behind(*std::max_element(lines.begin(), lines.end()), cache_.line_bytes));
  for (std::size_t i = 0; i < sequence.size(); ++i) {
    const Walk one = walk(lines[sequence[i]], 1, 1);
    p.phases.emplace_back(2 * i < sequence.size() ? one : recorded(one, Record::latencies, 1));
  }
  auto traces = session_->run(program::Batch(looks, p));
  if (!traces) return tl::unexpected<Error>(traces.error());
  std::vector<std::vector<bool>> missed(looks);
  for (std::size_t i = 0; i < looks; ++i)
    for (const auto& phase : (*traces)[i].phases)
      for (const std::uint32_t cycles : phase.latencies) missed[i].push_back(cycles >= cache_.threshold_cycles);
  return missed;
}

// Twice what it holds, and no line before: of a hash most sets get as many as they have ways.
Walk Evictions::others_behind(std::uint64_t line, std::uint64_t sector_bytes) const {
  const std::uint64_t begin = std::min(line + 1, room_lines() - 1);
  Walk others = walk(begin, std::min(2 * cache_.capacity_lines, room_lines() - begin), 1);
  others.stride_bytes = std::min(sector_bytes, cache_.line_bytes);
  return by_all_lanes(others, session_->info());
}

Expected<void> Evictions::push_everything_out(std::uint64_t sector_bytes) {
  program::Program p = program();
  p.phases.emplace_back(others_behind(2 * cache_.capacity_lines, sector_bytes));
  auto traces = session_->run({p});
  if (!traces) return tl::unexpected<Error>(traces.error());
  return {};
}

}  // namespace gputopo::evidence
