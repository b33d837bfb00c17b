#include "evidence/organisation/replacement.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <span>
#include <string>

#include <fmt/format.h>

#include "change_point/robust.hpp"
#include "evidence/inference/curves.hpp"
#include "evidence/inference/histogram.hpp"
#include "evidence/organisation/drawn_losses.hpp"
#include "evidence/organisation/line_times.hpp"
#include "evidence/organisation/set_policies.hpp"
#include "program/order.hpp"

namespace gputopo::evidence {
namespace {

using Lines = std::vector<std::uint64_t>;

constexpr std::uint32_t rounds_before = 8;

bool is_in(const Lines& set, std::uint64_t line) {
  return std::binary_search(set.begin(), set.end(), line);
}

// Rounds forwards, and then, recorded, by another step: one line back each time, or some lines on. Behind another cache
// by words that it has no lines of.
program::Walk forth_and_by(const CacheFacts& cache, std::uint64_t lines, std::uint64_t steps, std::uint64_t step,
                           std::uint64_t sweeps) {
  program::Walk walk =
      recorded(make_walk(cache.path, lines * cache.stride(), cache.stride() / steps, 1), program::Record::histogram, 1);
  if (steps > 1) {
    walk.footprint_bytes = (lines * steps - 1) * walk.stride_bytes;
    walk.order = program::Order::skipping;
    walk.order_seed = steps;
  }
  walk.lead_loads = rounds_before * lines;
  walk.loads_per_lap = walk.lead_loads + sweeps * lines;
  walk.tail_first = (lines - 1) * steps + (steps > 1 ? std::min(steps / 2, steps - 2) : 0);
  walk.tail_step = step * steps % program::positions(walk);
  return walk;
}

constexpr std::array<Policy, 3> known{Policy::lru, Policy::fifo, Policy::tree};
constexpr std::array<std::string_view, 3> known_names{"lru", "fifo", "tree"};
using Predictions = std::array<double, known.size()>;

// What each policy loses by the new step of the lines of one set.
Predictions predictions_of(const program::Walk& walk, std::uint64_t steps, const Lines& set, std::uint64_t ways) {
  std::vector<PolicySet> models;
  for (const Policy policy : known) models.emplace_back(policy, static_cast<std::uint32_t>(ways));
  Predictions lost{};
  const std::uint64_t count = program::positions(walk);
  program::Stepping s = program::stepping(walk.order, walk.order_seed, count);
  std::uint64_t position = s.first;
  for (std::uint64_t k = 0; k < walk.loads_per_lap; ++k) {
    if (k == walk.lead_loads) {
      position = walk.tail_first;
      s.step = walk.tail_step;
    }
    const std::uint64_t line = position / steps;
    position = program::advance(position, s.step, count);
    if (!is_in(set, line)) continue;
    for (std::size_t i = 0; i < known.size(); ++i)
      if (models[i].load(line) && k >= walk.lead_loads) ++lost[i];
  }
  return lost;
}

struct Trial {
  program::Walk walk;         ///< rounds forwards as its lead, then by another step
  std::uint64_t counted = 0;  ///< recorded loads whose misses are counted
  Predictions predicted{};
  double found = 0;
  double scatter = 0;  ///< between the quartiles of equal walks: what decides by use or age loses as much each time
};

// Strangers among a walk's loads. Where they are few some walks of several have none, and the least count is exact.
double strangers_of(const CacheFacts& cache, const Trial& trial) {
  constexpr double few = 0.5;
  const double expected = cache.levels.false_miss * static_cast<double>(trial.counted);
  return expected < few ? 0 : expected;
}

// How far off a walk's count may be: strangers' four standard deviations in a median of nine, and what their share is
// uncertain by.
double error_of(const CacheFacts& cache, const Trial& trial) {
  const auto loads = static_cast<double>(trial.counted);
  const double share = cache.levels.false_miss;
  const double known_from = std::max(1.0, cache.contamination().loads);
  if (strangers_of(cache, trial) == 0) return 0.45;
  return 0.45 + 1.7 * std::sqrt(share * loads) + 3 * std::sqrt(share / known_from) * loads;
}

// Of steps back and on, those by which each two policies differ most.
std::vector<Trial> telling_walks(const Circles& circles, const Collisions& seen, std::uint64_t ways) {
  constexpr std::uint64_t steps_tried = 24;
  const std::uint64_t lines = seen.fits + 1, steps = circles.steps_in_a_line();
  std::vector<Trial> all;
  for (std::uint64_t i = 0; i < std::min(steps_tried, lines - 1); ++i) {
    const std::uint64_t step = i == 0 ? lines - 1 : (lines * (i + 3) / (2 * steps_tried)) | 1;
    if (step == 1 || step >= lines || std::gcd(step, lines) != 1) continue;
    for (const std::uint64_t sweeps : {1U, 2U, 4U, 8U}) {
      Trial trial{forth_and_by(circles.cache(), lines, steps, step, sweeps), sweeps * lines, {}, 0};
      if (circles.cache().line_times != nullptr) {
        if (sweeps * lines > circles.session().info().largest_recording) continue;
        trial.walk.tail_first = 0;
        trial.counted = sweeps * seen.sets.front().size();
      }
      trial.predicted = predictions_of(trial.walk, steps, seen.sets.front(), ways);
      all.push_back(trial);
    }
  }
  std::vector<Trial> best;
  const auto add_best = [&](std::size_t a, std::size_t b) {
    const auto gap = [&](const Trial& t) {
      return std::fabs(t.predicted[a] - t.predicted[b]) / error_of(circles.cache(), t);
    };
    std::sort(all.begin(), all.end(), [&](auto& x, auto& y) { return gap(x) > gap(y); });
    for (std::size_t i = 0; i < std::min<std::size_t>(4, all.size()); ++i)
      if (gap(all[i]) > 2) best.push_back(all[i]);
  };
  add_best(0, 1);
  add_best(0, 2);
  add_best(1, 2);
  return best;
}

// Where every line has a time of its own all loads are needed, in order, and paths without leads have them as a phase.
program::Program program_of(const Circles& circles, const Trial& trial, std::uint64_t variant) {
  const CacheFacts& cache = circles.cache();
  program::Program p = circles.program(fmt::format("{} forth and by", cache.path.id));
  p.phases = {trial.walk};
  if (cache.line_times == nullptr) return p;
  const std::uint64_t lines = trial.walk.lead_loads / rounds_before;
  program::Walk forth = make_walk(cache.path, lines * cache.stride(), cache.stride(), rounds_before);
  forth.first_byte = cache.line_times->first_byte_of(variant);
  program::Walk by = recorded(forth, program::Record::latencies, 1);
  by.order = program::Order::skipping;
  by.order_seed = trial.walk.tail_step;
  by.loads_per_lap = trial.walk.loads_per_lap - trial.walk.lead_loads;
  p.phases = {forth, by};
  return p;
}

struct Seen {
  double lost = 0, answered = 0;  ///< not there; answered by a cache in front
};

Seen seen_of(const CacheFacts& cache, const Trial& trial, const program::PhaseTrace& trace) {
  const std::uint64_t loads = trial.walk.loads_per_lap - trial.walk.lead_loads;
  return {static_cast<double>(count_from(trace.histogram, cache.levels.threshold_cycles)),
          static_cast<double>(loads - count_from(trace.histogram, cache.front_threshold_cycles))};
}

// Where every load is known by its line those of the set alone count, and few of them are strangers'.
Seen seen_of(const CacheFacts& cache, const Trial& trial, const Lines& set, std::span<const double> cycles) {
  Seen seen;
  std::uint64_t line = 0;
  for (const double c : cycles) {
    if (is_in(set, line)) {
      seen.lost += c >= cache.levels.threshold_cycles ? 1 : 0;
      seen.answered += c < cache.front_threshold_cycles ? 1 : 0;
    }
    line = program::advance(line, trial.walk.tail_step, trial.walk.lead_loads / rounds_before);
  }
  return seen;
}

// What each load of a walk in one variant took longer than its line's hits.
std::vector<double> own_cycles(const Circles& circles, const Trial& trial, const program::PhaseTrace& trace,
                               std::uint64_t variant) {
  std::vector<double> cycles;
  std::uint64_t line = 0;
  for (const std::uint32_t latency : trace.latencies) {
    cycles.push_back(circles.own(line, variant, latency));
    line = program::advance(line, trial.walk.tail_step, trial.walk.lead_loads / rounds_before);
  }
  return cycles;
}

// Each load's median over all variants' walks: what goes by use or age goes the same way each time, and what a load
// takes varies by as much as a miss in a TLB costs.
std::vector<double> middle_of(std::span<const std::vector<double>> walks) {
  std::vector<double> middle, looks;
  for (std::size_t load = 0; load < walks.front().size(); ++load) {
    looks.clear();
    for (const auto& walk : walks) looks.push_back(walk[load]);
    middle.push_back(change_point::median(looks));
  }
  return middle;
}

// Runs them, and leaves out those of which a cache in front answered a part.
Expected<void> run(Circles& circles, const Lines& set, std::vector<Trial>& trials) {
  constexpr std::size_t times = 9;
  const CacheFacts& cache = circles.cache();
  const std::uint64_t lines = trials.front().walk.lead_loads / rounds_before;
  const std::uint64_t variants = cache.line_times == nullptr ? 1 : LineTimes::variants;
  if (cache.line_times != nullptr)
    if (auto ok = cache.line_times->learn({0, lines}); !ok) return ok;
  program::Batch batch;
  for (const Trial& trial : trials)
    for (std::size_t k = 0; k < times; ++k) batch.push_back(program_of(circles, trial, k % variants));
  auto traces = circles.session().run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  std::vector<Trial> reached;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    std::vector<double> lost, answered;
    std::vector<std::vector<double>> walks;
    for (std::size_t k = 0; k < times; ++k) {
      const program::PhaseTrace& trace = (*traces)[i * times + k].phases.back();
      if (cache.line_times != nullptr) walks.push_back(own_cycles(circles, trials[i], trace, k % variants));
      const Seen seen = walks.empty() ? seen_of(cache, trials[i], trace) : seen_of(cache, trials[i], set, walks.back());
      lost.push_back(seen.lost);
      answered.push_back(seen.answered);
    }
    std::sort(lost.begin(), lost.end());
    if (!walks.empty()) {
      const Seen seen = seen_of(cache, trials[i], set, middle_of(walks));
      trials[i].found = seen.lost;
      trials[i].scatter = lost[times - 1 - times / 4] - lost[times / 4];
      if (seen.answered == 0) reached.push_back(trials[i]);
      continue;
    }
    const double strangers = strangers_of(cache, trials[i]);
    trials[i].found = strangers == 0 ? lost[1] : std::max(0.0, change_point::median(lost) - strangers);
    if (change_point::median(answered) == 0) reached.push_back(trials[i]);
  }
  trials = std::move(reached);
  return {};
}

// The policies that fit every walk. Lines with times of their own, of which some are known less well than others, seem
// to be found now and then.
std::vector<std::size_t> fitting(const CacheFacts& cache, const std::vector<Trial>& trials) {
  std::vector<std::size_t> fits;
  const double hidden = cache.line_times == nullptr ? 0 : often_found(cache.levels.false_hit);
  for (std::size_t i = 0; i < known.size(); ++i)
    if (std::all_of(trials.begin(), trials.end(), [&](const Trial& t) {
          const double error = error_of(cache, t) + t.scatter;
          return t.found <= t.predicted[i] + error && t.found >= (1 - hidden) * t.predicted[i] - error;
        }))
      fits.push_back(i);
  return fits;
}

// What was lost by each of the other steps, beside what each policy would lose.
DecidingCurve trials_curve(std::string_view memory, const std::vector<Trial>& trials) {
  DecidingCurve curve =
      make_curve(memory, "replacement", {"walk by other steps", "", false}, {"loads lost", "", false});
  curve.series = {{"seen", {}}, {"if LRU", {}}, {"if first in first out", {}}, {"if a tree of bits", {}}};
  for (std::size_t i = 0; i < trials.size(); ++i) {
    curve.series[0].points.emplace_back(i + 1, trials[i].found);
    for (std::size_t k = 0; k < known.size(); ++k)
      curve.series[k + 1].points.emplace_back(i + 1, trials[i].predicted[k]);
  }
  return curve;
}

// What was lost in those walks by which each two policies differ most.
std::string evidence_of(const std::vector<Trial>& trials) {
  std::vector<std::uint64_t> steps;
  std::vector<double> found;
  std::array<std::vector<double>, known.size()> predicted;
  std::set<const Trial*> shown;
  for (std::size_t a = 0; a < known.size(); ++a)
    for (std::size_t b = a + 1; b < known.size(); ++b) {
      const auto gap = [&](const Trial& t) { return std::minmax(t.predicted[a], t.predicted[b]); };
      const auto less_apart = [&](const Trial& x, const Trial& y) {
        return gap(x).second - gap(x).first < gap(y).second - gap(y).first;
      };
      const Trial& telling = *std::max_element(trials.begin(), trials.end(), less_apart);
      if (!shown.insert(&telling).second) continue;
      steps.push_back(telling.walk.tail_step);
      found.push_back(std::round(telling.found));
      for (std::size_t k = 0; k < known.size(); ++k) predicted[k].push_back(telling.predicted[k]);
    }
  return fmt::format(
      "; walked on by other steps than before, as by {}, it loses {} (LRU {}, first in first out {}, a tree of bits "
      "{})",
      fmt::join(steps, ", "), fmt::join(found, ", "), fmt::join(predicted[0], ", "), fmt::join(predicted[1], ", "),
      fmt::join(predicted[2], ", "));
}

Expected<Replacement> by_other_steps(Circles& circles, const Collisions& seen, std::uint64_t ways) {
  Replacement result;
  std::vector<Trial> trials = telling_walks(circles, seen, ways);
  result.excluded = "every line of an overfull set is lost in each round, so nothing is drawn at random";
  if (trials.empty()) return result;
  if (auto ok = run(circles, seen.sets.front(), trials); !ok) return tl::unexpected<Error>(ok.error());
  if (trials.empty()) {
    result.excluded += "; in what order they go can't be told, because the cache in front answers other orders";
    return result;
  }
  circles.session().keep(trials_curve(circles.cache().path.id, trials));
  for (const Trial& t : trials) result.samples += t.walk.loads_per_lap - t.walk.lead_loads;
  result.excluded += evidence_of(trials);
  const auto fits = fitting(circles.cache(), trials);
  // Of two ways a tree is LRU.
  if (fits.size() == 1 || (ways == 2 && fits.size() == 2 && fits.front() == 0 && fits.back() == 2))
    result.policy = known_names[fits.front()];
  return result;
}

Expected<Replacement> by_repetition(Circles& circles, const Collisions& seen, std::uint64_t ways) {
  constexpr std::uint64_t most_loads = 1 << 23;
  Effort effort;
  effort.in_a_row = true;
  effort.rounds = static_cast<std::uint32_t>(std::max<std::uint64_t>(64, 24 * ways));
  const Circle circle{0, seen.fits + 1};
  if (circles.session().info().largest_recording / circle.lines < 8 || circles.loads_of(circle, effort) > most_loads)
    return Replacement{{},
                       "lines of an overfull set aren't lost in each round, so it is neither LRU nor FIFO; too few "
                       "rounds can be recorded to tell whether what is lost repeats",
                       0};
  auto losses = circles.walk(std::vector<Circle>{circle}, effort);
  if (!losses) return tl::unexpected<Error>(losses.error());
  std::vector<std::vector<Look>> runs;
  for (const auto& run : losses->front().runs) runs.push_back(looks_at(run, seen.sets.front()));
  circles.session().keep(gaps_curve(circles.cache().path.id, runs));
  Replacement result = judge_losses(runs, ways, circles.cache().levels.false_miss);
  result.samples = losses->front().total_looks();
  return result;
}

}  // namespace

Expected<Replacement> find_replacement(Circles& circles, const Collisions& seen, std::uint64_t ways) {
  if (ways == 1) return Replacement{"none", "a set has one way: there is nothing to choose", 0};
  return seen.always ? by_other_steps(circles, seen, ways) : by_repetition(circles, seen, ways);
}

}  // namespace gputopo::evidence
