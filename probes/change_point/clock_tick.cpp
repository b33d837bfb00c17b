#include "change_point/clock_tick.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace gputopo::change_point {
namespace {

constexpr double by_chance = 0.1;
constexpr int most_decimals = 6;

// Decimals that all values are written with, up to six: of averages and converted units more say nothing of a clock.
int decimals_of(std::span<const double> values) {
  int decimals = 0;
  double scale = 1;
  for (const double value : values) {
    while (decimals < most_decimals && std::abs(value * scale - std::round(value * scale)) > 1e-9 * value * scale) {
      ++decimals;
      scale *= 10;
    }
  }
  return decimals;
}

// Distinct readings, in units of the last decimal.
std::vector<std::int64_t> readings_of(std::span<const double> sorted, double scale) {
  std::vector<std::int64_t> readings;
  for (const double value : sorted) {
    const std::int64_t reading = std::llround(value * scale);
    if (readings.empty() || reading != readings.back()) readings.push_back(reading);
  }
  return readings;
}

// The smallest gap that is more than `slack` units of rounding make of one reading; 0 where there is none.
std::int64_t smallest_gap(const std::vector<std::int64_t>& readings, double slack) {
  std::int64_t smallest = 0;
  for (std::size_t i = 1; i < readings.size(); ++i) {
    const std::int64_t gap = readings[i] - readings[i - 1];
    if (static_cast<double>(gap) > slack && (smallest == 0 || gap < smallest)) smallest = gap;
  }
  return smallest;
}

// A tick that is written without rounding: every reading is a multiple of the smallest gap. The gap itself is what
// remains of one reading, so all but one of them speak.
double exact_tick(const std::vector<std::int64_t>& readings) {
  const std::int64_t gap = smallest_gap(readings, 0);
  if (gap == 0) return 0;
  const bool all = std::all_of(readings.begin(), readings.end(), [gap](std::int64_t r) { return r % gap == 0; });
  const double chance = std::pow(1 / static_cast<double>(gap), static_cast<double>(readings.size() - 1));
  return all && chance <= by_chance ? static_cast<double>(gap) : 0;
}

// How well readings are multiples of a tick.
struct TickFit {
  double tick = 0;
  std::size_t multiples = 0;  // distinct ones; 0 where a reading is none
  double squares = 0;         // of what the readings are off
};

TickFit fit_of(const std::vector<std::int64_t>& readings, double tick, double slack) {
  TickFit fit{tick, 0, 0};
  double last = -1;
  for (const std::int64_t reading : readings) {
    const double multiple = std::round(static_cast<double>(reading) / tick);
    const double off = static_cast<double>(reading) - multiple * tick;
    if (std::abs(off) > slack) return {tick, 0, 0};
    if (multiple != last) ++fit.multiples;
    last = multiple;
    fit.squares += off * off;
  }
  return fit;
}

// A tick of which every multiple is rounded (0.5 of slack, and no two readings are the same multiple), or that is the
// difference of two rounded times (1: they may be). The gap gives it to twice the slack only, and as many ticks are
// tried as can be told apart: each of them may fit by chance.
double rounded_tick(const std::vector<std::int64_t>& readings, double slack) {
  constexpr std::size_t most_readings = 64;  // within as few ticks the clock is coarse
  constexpr double most_ticks = 1000;
  const auto gap = static_cast<double>(smallest_gap(readings, slack > 0.5 ? 2 * slack : 0));
  const auto largest = static_cast<double>(readings.back());
  if (gap <= 2 * slack || readings.size() > most_readings || largest > most_ticks * gap) return 0;
  const double step = 0.5 * slack * gap / std::max(gap, largest);
  TickFit best;
  for (double tick = gap - 2 * slack + step; tick < gap + 2 * slack; tick += step) {
    const TickFit fit = fit_of(readings, tick, slack);
    if (fit.multiples > 0 && (best.multiples == 0 || fit.squares < best.squares)) best = fit;
  }
  if (best.multiples < 2) return 0;
  const double tried = 1 + 4 * largest / gap;
  const double each = std::min(1.0, 2 * slack / best.tick);
  const double chance = tried * std::pow(each, static_cast<double>(best.multiples - 1));
  return chance <= by_chance ? best.tick : 0;
}

}  // namespace

double clock_tick(std::span<const double> sorted) {
  if (sorted.empty()) return 0;
  const double scale = std::pow(10.0, decimals_of(sorted));
  const auto readings = readings_of(sorted, scale);
  double tick = exact_tick(readings);
  if (tick == 0) tick = rounded_tick(readings, 0.5);
  if (tick == 0) tick = rounded_tick(readings, 1);
  return tick / scale;
}

}  // namespace gputopo::change_point
