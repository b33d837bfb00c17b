#include "experiments/instruction_values.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "evidence/inference/curves.hpp"
#include "evidence/inference/estimates.hpp"

namespace gputopo::experiments {

using namespace evidence;

namespace {

// Of a row of blocks every n-th is missing where a miss brings in n of them, a power of two, and so many of both rows.
// What the cache still holds only takes from these, and of four times as much next to nothing is held: more code alone
// says it where there is as much. Where every block misses, a miss may bring in less than one.
std::optional<double> blocks_of_a_miss(const CodeLevel& level, std::uint64_t block_bytes) {
  constexpr double most = 8, near = 0.04, still_held = 0.15, much_more = 4;
  const auto explains = [](const MissedInARow& row, double whole, double held) {
    const double expected = std::ceil(row.blocks / whole), error = near * expected + row.error;
    return row.missed <= expected + error && row.missed >= (1 - held) * expected - error;
  };
  double whole = most;
  while (whole > 1 && !explains(level.of_more, whole, still_held)) whole /= 2;
  const bool is_much_more =
      level.of_more.blocks * static_cast<double>(block_bytes) >= much_more * static_cast<double>(level.lost_from_bytes);
  const bool agree = explains(level.of_less, whole, 0) && explains(level.of_more, whole, 0);
  return agree || (is_much_more && explains(level.of_more, whole, still_held)) ? std::optional(whole) : std::nullopt;
}

}  // namespace

Estimate fetched_sector(const CodeLevel& level, std::uint64_t block_bytes, const Estimate* in_front) {
  const auto whole = blocks_of_a_miss(level, block_bytes);
  if (!whole)
    return inconclusive("B", instructions_method,
                        "other shares of blocks are missing than where one, two or four come with each that is");
  Estimate sector = measured(*whole * static_cast<double>(block_bytes), "B", instructions_method, level.samples);
  if (*whole == 1) bound_above(sector, by_itself);
  if (in_front != nullptr && (!in_front->value || *in_front->value >= *sector.value))
    bound_above(sector, "the cache in front asks for as much at once");
  return sector;
}

Estimate penalty_between(const CodeLevel& level) {
  const double cycles = level.lost_cycles - level.hit_cycles;
  Estimate e = measured(cycles, "cycles", instructions_method, level.samples);
  e.interval = Interval{std::max(0.0, cycles - level.error_cycles), cycles + level.error_cycles};
  return e;
}

void keep_curves(Session& session, const CodeLevel& level, std::string_view id, const Estimate& sector,
                 const Estimate& penalty) {
  const Axis code{"code walked", "B", true};
  DecidingCurve ladder = make_curve(id, "latency", code, {"a jump takes at most", "cycles", false});
  ladder.series = {level.slowest};
  ladder.change = static_cast<double>(level.lost_from_bytes);
  ladder.interval = Interval{static_cast<double>(level.to_bytes), static_cast<double>(level.lost_from_bytes)};
  session.keep(std::move(ladder));
  DecidingCurve missed = make_curve(id, "sector_size", code, {std::string(share_that_misses), "", false});
  missed.series = {level.missed};
  if (!sector.value) {
    DecidingCurve walked = missed;  // all that there is of the size
    walked.quantity = "size";
    session.keep(std::move(walked));
  }
  if (sector.has_value()) missed.series.front().label += fmt::format(", {:.0f} B a miss", *sector.value);
  session.keep(std::move(missed));
  DecidingCurve lost = make_curve(id, "miss_penalty", {"cycles more than a hit", "cycles", false}, share_axis("jumps"));
  lost.series = {share_up_to("jumps to lost blocks", level.levels.next, level.hit_cycles),
                 share_up_to("hits", level.levels.hit, level.hit_cycles)};
  mark(lost, penalty);
  session.keep(std::move(lost));
  DecidingCurve levels = curve_of(level.levels);
  levels.memory = id;
  session.keep(std::move(levels));
}

}  // namespace gputopo::experiments
