#include "evidence/organisation/circles.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "evidence/organisation/line_times.hpp"
#include "program/order.hpp"

namespace gputopo::evidence {
namespace {

using program::Order;
using program::Record;
using program::Walk;

constexpr std::uint64_t word_bytes = 4;

// Probability of `least` or more of `n` where each has probability `p`.
double tail(std::uint32_t n, double p, std::uint32_t least) {
  double sum = 0;
  for (std::uint32_t k = least; k <= n; ++k)
    sum += std::exp(std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0) + k * std::log(p) +
                    (n - k) * std::log1p(-p));
  return sum;
}

// Positions of a circle's walk: steps that aren't whole lines leave the last one out, so that rounds go on through the
// lines' words.
std::uint64_t positions_of(std::uint64_t lines, std::uint64_t steps) {
  return lines * steps - (steps > 1 ? 1 : 0);
}

// From one load's position to the next one's: a line on, or a seed's number of lines where lines have one position.
std::uint64_t step_of(std::uint64_t lines, std::uint64_t steps, std::uint64_t order_seed) {
  if (order_seed == 0 || steps > 1) return steps;
  std::uint64_t lines_on = program::stepping(Order::shuffled, order_seed, lines).first;
  while (std::gcd(lines_on, lines) != 1) ++lines_on;
  return lines_on % lines;
}

// Rounds at the begin of a recorded lap that don't count: what the kernel read for itself before has a part in them.
std::uint32_t left_out_of(std::uint32_t rounds) {
  return rounds / 2;
}

double floor_of(double false_miss) {
  return std::clamp(false_miss, 1e-5, 0.5);
}

}  // namespace

std::uint64_t Losses::total_looks() const {
  return std::accumulate(looks.begin(), looks.end(), std::uint64_t{0});
}

std::uint64_t Losses::total_misses() const {
  return std::accumulate(misses.begin(), misses.end(), std::uint64_t{0});
}

// One program's share of a circle: what it records is its last phase.
struct Circles::Part {
  std::uint64_t from = 0, to = 0;  // lines that are recorded, of a circle too long to record at once
  std::uint32_t rounds = 1;        // of a recorded lap
  std::uint32_t warm_laps = 1;     // of as many rounds
  bool whole = true;
  std::uint64_t order_seed = 0;  // 0: in the lines' own order
  std::uint64_t variant = 0;     // of lines with times of their own
};

struct Circles::TimedLook {
  std::uint32_t line = 0;  // of the circle
  double cycles = 0;
};

std::uint64_t Circles::room_lines() const {
  if (cache_->room_lines != 0) return cache_->room_lines;
  return room_of(session_->info(), cache_->path.slot) / cache_->stride();
}

bool Circles::has_other_orders() const {
  return cache_->path.slot != slot_code;
}

std::uint64_t Circles::steps_in_a_line() const {
  const std::uint64_t stride = cache_->stride();
  if (cache_->front_line_bytes == 0 || cache_->front_line_bytes >= stride) return 1;
  return stride / (by_words_ ? word_bytes : cache_->front_line_bytes);
}

std::vector<Circles::Part> Circles::parts_of(const Circle& circle, const Effort& effort) const {
  const std::uint64_t limit = session_->info().largest_recording;
  const std::uint64_t variants = cache_->line_times == nullptr ? 1 : LineTimes::variants;
  std::vector<Part> parts;
  if (circle.lines > limit) {
    for (std::uint64_t from = 0; from < circle.lines; from += limit)
      for (std::uint32_t i = 0; i < effort.rounds; ++i)
        parts.push_back({from, std::min(circle.lines, from + limit), 1, cache_->warm_laps, false, 0, i % variants});
    return parts;
  }
  // The round with a position less isn't made. A constant of the kernel's that came to a set that replaces at random
  // stays until about three times as many rounds went by as the set has ways.
  const std::uint64_t steps = steps_in_a_line();
  const auto most = static_cast<std::uint32_t>(std::min(limit / circle.lines, steps == 1 ? limit : steps - 1));
  const bool others = effort.other_orders && has_other_orders();
  // What a tree of bits lets go of in one order it does in each of the order's rounds: more looks are looks in more.
  constexpr std::uint32_t rounds_of_an_order = 8;
  const std::uint64_t in_a_run = effort.in_a_row ? effort.rounds
                                 : others        ? std::min(effort.rounds, rounds_of_an_order)
                                                 : (effort.rounds + variants - 1) / variants;
  const std::uint32_t rounds = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
      kernels_read(cache_->path.slot)
          ? std::max<std::uint64_t>(2 * effort.rounds, std::min<std::uint64_t>(3 * circle.lines, 256))
          : 2 * in_a_run,
      1, most));
  const std::uint32_t counting = rounds - left_out_of(rounds);
  std::uint32_t count = (effort.rounds + counting - 1) / counting;
  if (others) count = std::max(count, effort.rounds * 3 / 2);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t warm = (cache_->warm_laps + rounds - 1) / rounds;
    // Of walks in the lines' own order, too, each is over other variants than the one before.
    const std::uint64_t variant = (others ? i + i / 4 : i) % variants;
    parts.push_back({0, circle.lines, rounds, warm, true, others && i % 4 != 0 ? i : 0, variant});
  }
  return parts;
}

std::uint64_t Circles::loads_of(const Circle& circle, const Effort& effort) const {
  std::uint64_t loads = 0;
  for (const Part& part : parts_of(circle, effort))
    loads += circle.lines *
             ((part.whole ? part.rounds * (1 + part.warm_laps) : 1 + part.warm_laps) + (part.order_seed != 0 ? 1 : 0));
  return loads;
}

program::Program Circles::program(std::string label) const {
  program::Program p = make_program(std::move(label), session_->info(), cache_->path.slot);
  p.isolation = isolation_;
  if (cache_->line_times != nullptr) p.agents = {{cache_->line_times->sm(), 0}};
  return p;
}

Expected<std::uint64_t> Circles::address() const {
  program::Program p = program(fmt::format("{} where its lines lie", cache_->path.id));
  Walk first = make_walk(cache_->path, cache_->stride(), cache_->stride(), 1);
  if (cache_->line_times != nullptr) first.first_byte = cache_->line_times->first_byte_of(0);
  p.phases = {first};
  p.asks_address = true;
  auto traces = session_->run({p});
  if (!traces) return tl::unexpected<Error>(traces.error());
  const std::uint64_t address = traces->front().address;
  return address == 0 ? 0 : address + first.first_byte;
}

program::Program Circles::program_of(const Circle& circle, const Part& part) const {
  const std::uint64_t stride = cache_->stride();
  program::Program p = program(fmt::format("{} {} lines from {}", cache_->path.id, circle.lines, circle.first));
  Walk walk = make_walk(cache_->path, circle.lines * stride, stride, part.warm_laps);
  walk.first_byte = circle.first * stride;
  if (cache_->line_times != nullptr) walk.first_byte += cache_->line_times->first_byte_of(part.variant);
  if (!part.whole) {
    p.phases = {walk};
    Walk piece = walk;
    piece.laps = 1;
    piece.footprint_bytes = part.from * stride;
    if (part.from != 0) p.phases.emplace_back(piece);
    piece.first_byte += part.from * stride;
    piece.footprint_bytes = (part.to - part.from) * stride;
    p.phases.emplace_back(recorded(piece, Record::latencies, 1));
    return p;
  }
  const std::uint64_t steps = steps_in_a_line();
  if (steps > 1) {
    walk.stride_bytes = stride / steps;
    walk.footprint_bytes = positions_of(circle.lines, steps) * walk.stride_bytes;
  }
  // Which line has which way, and so which ones a tree of bits lets go of, is as they came.
  if (part.order_seed != 0) {
    Walk begin = make_walk(cache_->path, circle.lines * stride, stride, 1);
    begin.first_byte = walk.first_byte;
    begin.order = Order::shuffled;
    begin.order_seed = part.order_seed;
    p.phases.emplace_back(begin);
  }
  if (steps > 1 || part.order_seed != 0) {
    walk.order = Order::skipping;
    walk.order_seed = step_of(circle.lines, steps, part.order_seed);
  }
  walk.loads_per_lap = part.rounds * circle.lines;
  p.phases.emplace_back(recorded(walk, Record::latencies, 1 + part.warm_laps));
  return p;
}

double Circles::own(std::uint64_t line, std::uint64_t variant, std::uint32_t latency_cycles) const {
  return latency_cycles - (cache_->line_times == nullptr ? 0 : cache_->line_times->of(line, variant));
}

std::vector<Circles::TimedLook> Circles::counting_looks(const Circle& circle, const Part& part,
                                                        const std::vector<std::uint32_t>& latencies) const {
  const std::uint64_t steps = part.whole ? steps_in_a_line() : 1;
  const std::uint64_t count = positions_of(circle.lines, steps);
  program::Stepping s{0, step_of(circle.lines, steps, part.order_seed)};
  if (!has_other_orders()) s = program::stepping(Order::reverse, 0, count);
  if (!part.whole) s.first = part.from;
  const std::uint64_t left_out = left_out_of(part.rounds) * circle.lines;
  std::vector<TimedLook> looks;
  std::uint64_t position = s.first;
  for (std::uint64_t k = 0; k < latencies.size(); ++k, position = program::advance(position, s.step, count)) {
    if (k < left_out) continue;
    const std::uint64_t line = position / steps;
    looks.push_back({static_cast<std::uint32_t>(line), own(circle.first + line, part.variant, latencies[k])});
  }
  return looks;
}

void Circles::add(Losses& losses, const std::vector<TimedLook>& looks) const {
  std::vector<Look> run;
  losses.loads += looks.size();
  for (const auto& [line, cycles] : looks) {
    if (cycles < cache_->front_threshold_cycles) continue;
    const Look look{line, cycles >= cache_->levels.threshold_cycles};
    ++losses.looks[line];
    losses.misses[line] += look.missed ? 1 : 0;
    run.push_back(look);
  }
  losses.runs.push_back(std::move(run));
}

Expected<std::vector<Losses>> Circles::walk(std::span<const Circle> circles, const Effort& effort) {
  auto all = walk_once(circles, effort);
  if (!all || !by_words_ || steps_in_a_line() == 1) return all;
  std::uint64_t looks = 0, loads = 0;
  for (const Losses& losses : *all) {
    looks += losses.total_looks();
    loads += losses.loads;
  }
  constexpr double few = 0.002;
  if (static_cast<double>(loads - looks) <= few * static_cast<double>(loads)) return all;
  by_words_ = false;
  return walk_once(circles, effort);
}

Expected<std::vector<Losses>> Circles::walk_once(std::span<const Circle> circles, const Effort& effort) const {
  std::vector<Losses> all;
  for (const Circle& circle : circles) {
    Losses& losses = all.emplace_back();
    losses.circle = circle;
    losses.looks.assign(circle.lines, 0);
    losses.misses.assign(circle.lines, 0);
  }
  auto ok = walk_parts(circles, effort, [&](std::size_t i, const auto& looks) { add(all[i], looks); });
  if (!ok) return tl::unexpected<Error>(ok.error());
  return all;
}

Expected<std::vector<double>> Circles::times(const Circle& circle, const Effort& effort) const {
  std::vector<double> all;
  auto ok = walk_parts(std::span(&circle, 1), effort, [&](std::size_t, const auto& looks) {
    for (const TimedLook& look : looks) all.push_back(look.cycles);
  });
  if (!ok) return tl::unexpected<Error>(ok.error());
  return all;
}

Expected<void> Circles::walk_parts(std::span<const Circle> circles, const Effort& effort,
                                   const std::function<void(std::size_t, const std::vector<TimedLook>&)>& take) const {
  constexpr std::size_t most_at_once = 256;  // programs in a batch: each has a record of its own
  std::vector<std::pair<std::size_t, Part>> parts;
  for (std::size_t i = 0; i < circles.size(); ++i) {
    if (cache_->line_times != nullptr)
      if (auto ok = cache_->line_times->learn(circles[i]); !ok) return ok;
    for (const Part& part : parts_of(circles[i], effort)) parts.emplace_back(i, part);
  }
  for (std::size_t done = 0; done < parts.size(); done += most_at_once) {
    const std::size_t end = std::min(parts.size(), done + most_at_once);
    program::Batch batch;
    for (std::size_t i = done; i < end; ++i) batch.push_back(program_of(circles[parts[i].first], parts[i].second));
    auto traces = session_->run(batch);
    if (!traces) return tl::unexpected<Error>(traces.error());
    for (std::size_t i = done; i < end; ++i) {
      const auto& [number, part] = parts[i];
      take(number, counting_looks(circles[number], part, (*traces)[i - done].phases.back().latencies));
    }
  }
  return {};
}

std::vector<std::uint64_t> lost_lines(const Losses& losses, double false_miss) {
  const double p = floor_of(false_miss);
  const double allowed = 1e-3 / static_cast<double>(losses.circle.lines);
  std::map<std::uint32_t, std::uint32_t> least;  // by looks
  std::vector<std::uint64_t> lost;
  for (std::uint64_t line = 0; line < losses.circle.lines; ++line) {
    const std::uint32_t n = losses.looks[line];
    auto [it, is_new] = least.try_emplace(n, 2);
    if (is_new)
      while (it->second < n && tail(n, p, it->second) > allowed) ++it->second;
    if (n >= 2 && losses.misses[line] >= it->second) lost.push_back(losses.circle.first + line);
  }
  return lost;
}

double often_found(double false_hit) {
  // The walk's own loads come into sets, too, and change what goes; and lines whose own times are known least well seem
  // to be found twice as often as others.
  constexpr double seldom = 0.05;
  return std::clamp(2 * false_hit, seldom, 0.5);
}

bool always_lost(const Losses& losses, std::span<const std::uint64_t> lines, double false_hit) {
  double looks = 0, found = 0;
  for (const std::uint64_t line : lines) {
    const std::uint64_t at = line - losses.circle.first;
    if (2 * losses.misses[at] < losses.looks[at]) return false;
    looks += losses.looks[at];
    found += losses.looks[at] - losses.misses[at];
  }
  return looks != 0 && found <= often_found(false_hit) * looks;
}

bool loses_any(const Losses& losses, double false_miss) {
  const double expected = floor_of(false_miss) * static_cast<double>(losses.total_looks());
  return static_cast<double>(losses.total_misses()) > 2 + expected + 6 * std::sqrt(expected);
}

}  // namespace gputopo::evidence
