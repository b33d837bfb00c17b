// Rows of DRAM: whether a load right after one near it takes less than after one far away, by distance. Each line is
// held against itself, since lines differ by more than a row may gain, and its translation is brought first, so that
// the near load has no part in that.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "evidence/inference/estimates.hpp"
#include "evidence/looks/latency.hpp"
#include "evidence/looks/longest_line.hpp"
#include "evidence/memory/cold_memory.hpp"
#include "evidence/memory/kept_translation.hpp"
#include "evidence/memory/row_gain.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;
using program::Record;

constexpr std::array<std::uint64_t, 8> row_distances{64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20};
constexpr std::uint64_t lines_of_a_distance = 64;
constexpr std::uint64_t row_lines = row_distances.size() * lines_of_a_distance;
// No line is another one's neighbour, and they lie in all channels.
constexpr std::uint64_t row_line_apart_bytes = (24 << 10) + 384;
// From one line of a distance to the next: an odd multiple of 128 B more than a power of two's multiple, so that 64 of
// them begin evenly spread over a row of 8 KiB or less, as many of the pairs lie in two rows as are that far apart.
constexpr std::uint64_t turn_bytes = row_distances.size() * (24 << 10) + 384;
// Behind all lines, and off their places.
constexpr std::uint64_t far_away_bytes = row_lines * row_line_apart_bytes + (12 << 10);
constexpr std::uint64_t rows_room_bytes = 3 * far_away_bytes;  // a walk of two such steps from any line
constexpr std::size_t row_rounds = 8;                          // half of them after a near load, half after a far one
// A line in the same page, the smallest that GPUs give device memory, and beyond any row that lies in one piece.
constexpr std::uint64_t translating_bytes = 32 << 10;

// Looks at one line, by what was loaded right before.
struct NearAndFar {
  std::vector<double> near, far;
};

struct RowLooks {
  std::vector<NearAndFar> lines = std::vector<NearAndFar>(row_lines);
  Histogram missed, hit;  // after a far load, and once more right behind that
};

std::size_t row_line(std::size_t distance, std::uint64_t i) {
  return i * row_distances.size() + distance;
}

// Every distance's lines lie all over the room.
std::uint64_t row_place(std::size_t distance, std::uint64_t i) {
  return i * turn_bytes + distance * row_line_apart_bytes;
}

bool is_near(std::uint64_t i, std::size_t round) {
  return (i + round) % 2 == 0;
}

constexpr std::size_t phases_of_a_pair = 3;

program::Program row_pairs(const ColdMemory& cold, std::size_t distance, std::size_t round) {
  program::Program p = cold.program(fmt::format("pairs {} B apart, round {}", row_distances[distance], round));
  for (std::uint64_t i = 0; i < lines_of_a_distance; ++i) {
    const std::uint64_t place = row_place(distance, i);
    program::Walk translate = make_walk(l2_path, 4, 4, 1);
    translate.first_byte = cold.begin() + (place ^ translating_bytes);
    const std::uint64_t apart = is_near(i, round) ? row_distances[distance] : far_away_bytes;
    program::Walk pair = recorded(make_walk(l2_path, 2 * apart, apart, 1), Record::latencies, 1);
    pair.first_byte = cold.begin() + place;
    pair.order = program::Order::reverse;  // from above: what a prefetch of the next line brings isn't looked at
    p.phases.insert(p.phases.end(), {translate, pair, pair});
  }
  return p;
}

Expected<bool> look_at_rows(ColdMemory& cold, std::size_t round, RowLooks& looks) {
  program::Batch batch;
  for (std::size_t d = 0; d < row_distances.size(); ++d) batch.push_back(row_pairs(cold, d, round));
  auto traces = cold.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  if (!*traces) return false;
  for (std::size_t d = 0; d < row_distances.size(); ++d) {
    const auto& phases = (**traces)[d].phases;
    for (std::uint64_t i = 0; i < lines_of_a_distance; ++i) {
      const std::uint32_t cycles = phases[phases_of_a_pair * i + 1].latencies.back();
      const std::uint32_t again = phases[phases_of_a_pair * i + 2].latencies.back();
      NearAndFar& line = looks.lines[row_line(d, i)];
      (is_near(i, round) ? line.near : line.far).push_back(cycles);
      if (is_near(i, round)) continue;
      add(looks.missed, cycles);
      add(looks.hit, again);
    }
  }
  return true;
}

// What a line's load takes less after a near one: by its undisturbed looks, since strangers only add.
double gain_of(const NearAndFar& line) {
  const auto own = [](std::vector<double> looks) {
    std::sort(looks.begin(), looks.end());
    return looks[lower_quartile_rank(looks.size())];
  };
  return own(line.far) - own(line.near);
}

// Distances that one fetch doesn't reach over, `least_bytes` or more.
std::vector<GainAt> gains_of(const RowLooks& looks, double threshold_cycles, std::uint64_t least_bytes) {
  constexpr double hardly_any = 0.05;  // of the near looks may hit, as many loads as are a stranger's
  std::vector<GainAt> gains;
  for (std::size_t d = 0; d < row_distances.size(); ++d) {
    if (row_distances[d] < least_bytes) continue;
    std::vector<double> gained;
    std::size_t hits = 0, near = 0;
    for (std::uint64_t i = 0; i < lines_of_a_distance; ++i) {
      const NearAndFar& line = looks.lines[row_line(d, i)];
      near += line.near.size();
      hits += static_cast<std::size_t>(
          std::count_if(line.near.begin(), line.near.end(), [&](double x) { return x < threshold_cycles; }));
      gained.push_back(gain_of(line));
    }
    if (static_cast<double>(hits) > hardly_any * static_cast<double>(near)) continue;
    gains.push_back(gain_at(row_distances[d], gained));
    gains.back().samples = lines_of_a_distance * row_rounds;
  }
  return gains;
}

}  // namespace

Expected<void> measure_memory_rows(Session& session, Findings& findings) {
  const CacheFacts* facts = findings.cache("device_memory");
  if (facts == nullptr) return {};
  Estimate& gain = findings.memory("device_memory").attributes["row_gain"] =
      inconclusive("cycles", "near_pairs", "memory has no room for it behind what empties the L2");
  ColdMemory cold(session, facts->capacity_bytes, rows_room_bytes);
  if (!cold.fits()) return {};
  RowLooks looks;
  for (std::size_t round = 0; round < row_rounds; ++round) {
    auto ran = look_at_rows(cold, round, looks);
    if (!ran) return tl::unexpected<Error>(ran.error());
    if (*ran) continue;
    gain.note = "a neighbour on the GPU left no time for it";
    return {};
  }
  auto untranslated = why_untranslated(session, findings);
  if (!untranslated) return tl::unexpected<Error>(untranslated.error());
  if (*untranslated) {
    gain.note = **untranslated;
    return {};
  }
  // What a near load's fetch brought may lie in a cache behind the L2: no row, either.
  const CacheFacts* l2 = findings.cache("l2");
  const bool is_cache_behind = l2 != nullptr && l2->next_level.has_value() && !l2->next_loads.empty();
  const auto threshold = ColdMemory::threshold_cycles(is_cache_behind ? l2->next_loads : looks.hit, looks.missed);
  if (!threshold) {
    gain.note = "loads that a cache has don't show beside those that none has";
    return {};
  }
  // Where nothing rules out a cache behind the L2 that no latency told, the near load may have brought it a whole line.
  const bool may_be_anothers = l2 != nullptr && !l2->is_before_memory && !is_cache_behind;
  const std::vector<GainAt> gains = gains_of(looks, *threshold, may_be_anothers ? longest_line_bytes : 0);
  session.keep(curve_of(gains, "device_memory"));
  gain = row_gain(gains, facts->latency_cycles);
  return {};
}

}  // namespace gputopo::experiments
