#include "evidence/lines/spaced_lines.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "evidence/inference/curves.hpp"
#include "evidence/inference/histogram.hpp"
#include "evidence/looks/footprint.hpp"

namespace gputopo::evidence {
namespace {

constexpr double half_a_line = 0.5;  // a round: a line counts as lost that is lost in most rounds
constexpr std::uint64_t fewest_rows = 2, most_rows = 12, looks_at_a_distance = 400;
constexpr std::uint64_t warm_rounds = 4;

// Lines a round that a row loses where each set holds nothing else.
double lost_of(const SpacedFit& fit, std::uint64_t lines) {
  if (lines <= fit.lines) return 0;
  return static_cast<double>(std::min(lines, (lines - fit.lines) * (fit.ways() + 1)));
}

bool is_told(const RowLook& look) {
  return look.told > static_cast<double>(look.lines) - half_a_line;
}

// Sets that hold a line of something else have room for fewer: they lose theirs early, and no row keeps another set's
// more. Half of one, at most: of what the walk's own code has in use a line or two stay.
bool is_never_above(const SpacedRow& row, const SpacedFit& fit) {
  const double half_a_set = std::max(1.0, static_cast<double>(fit.ways()) / 2) + half_a_line;
  return std::all_of(row.looks.begin(), row.looks.end(), [&](const RowLook& look) {
    if (look.lines <= fit.lines) return true;
    const double kept = static_cast<double>(look.lines) - lost_of(fit, look.lines);
    return look.told - look.missed < kept + half_a_set;
  });
}

// Half as far apart lines go to twice as many sets, of which others leave most alone.
bool goes_on(const SpacedRow& row, const SpacedFit& fit) {
  const SpacedFit twice{2 * fit.lines, 2 * fit.sets};
  const auto full =
      std::find_if(row.looks.begin(), row.looks.end(), [&](const RowLook& look) { return look.lines == twice.lines; });
  if (full == row.looks.end() || row.looks.back().lines < twice.lines + twice.sets) return false;
  const auto mostly = static_cast<double>(fit.lines);
  return full->told - full->missed > mostly - half_a_line && is_never_above(row, twice);
}

struct AgreedFit {
  SpacedFit fit;
  std::uint64_t rows = 0;  // that say so
};

std::optional<AgreedFit> agreed_fit(const SpacedRows& distance) {
  constexpr std::uint64_t enough = 2;  // by chance none does to half a line in each of its looks
  std::vector<AgreedFit> all;
  for (const SpacedRow& row : distance.rows) {
    const auto fit = fit_of_row(row);
    if (!fit) continue;
    auto known = std::find_if(all.begin(), all.end(), [&](const AgreedFit& a) { return a.fit == *fit; });
    if (known == all.end()) known = all.insert(known, {*fit, 0});
    ++known->rows;
  }
  const auto best =
      std::max_element(all.begin(), all.end(), [](const AgreedFit& x, const AgreedFit& y) { return x.rows < y.rows; });
  if (best == all.end() || best->rows < enough) return std::nullopt;
  const bool none_above = std::all_of(distance.rows.begin(), distance.rows.end(),
                                      [&](const SpacedRow& row) { return is_never_above(row, best->fit); });
  return none_above ? std::optional(*best) : std::nullopt;
}

// Enough that a stranger in one of them is none of a line.
std::uint64_t rounds_for(std::uint64_t lines) {
  return std::clamp<std::uint64_t>(200 / lines, 4, 16);
}

// What a first-in-first-out set loses goes by the order in which its lines came, and hits don't change that: of lines
// that came before the walk, in another order, it may keep some for ever. So the longest walk of the row comes first,
// which is over twice as many lines as fit: half of them weren't there, and what is there then came in the walk's
// order.
program::Program row_program(const device::DeviceInfo& info, const CacheFacts& cache, std::uint64_t block_bytes,
                             const SpacedRow& row, std::uint64_t lines, Scope isolation) {
  program::Program p =
      make_program(fmt::format("{} {} lines, {} blocks apart from {}", cache.path.id, lines, row.apart, row.first),
                   info, cache.path.slot);
  p.isolation = isolation;
  const std::uint64_t stride = row.apart * block_bytes;
  program::Walk begin = make_walk(cache.path, row.looks.back().lines * stride, stride, 1);
  begin.first_byte = row.first * block_bytes;
  program::Walk walk = recorded(make_walk(cache.path, lines * stride, stride, 1), program::Record::histogram, 1);
  walk.first_byte = begin.first_byte;
  walk.lead_loads = warm_rounds * lines;
  walk.loads_per_lap = walk.lead_loads + rounds_for(lines) * lines;
  p.phases = {begin, walk};
  return p;
}

SpacedRows planned_rows(std::uint64_t apart, const Interval& blocks, std::uint64_t room) {
  const auto distance = static_cast<double>(apart);
  const auto from = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(blocks.low / distance)),
             to = static_cast<std::uint64_t>(std::ceil(blocks.high / distance)) + 1;
  SpacedRows rows{apart, {}};
  const std::uint64_t places =
      std::min(apart, std::clamp(looks_at_a_distance / (to - from + 1), fewest_rows, most_rows));
  for (std::uint64_t i = 0; i < places; ++i) {
    SpacedRow row{apart, apart * i / places, {}};
    for (std::uint64_t lines = from; lines <= to && row.first + lines * apart <= room; ++lines)
      row.looks.push_back({lines, 0, 0});
    if (!row.looks.empty()) rows.rows.push_back(std::move(row));
  }
  return rows;
}

Expected<void> walk_rows(Session& session, const CacheFacts& cache, std::uint64_t block_bytes, Scope isolation,
                         SpacedRows& rows) {
  program::Batch batch;
  std::vector<RowLook*> looks;
  for (SpacedRow& row : rows.rows)
    for (RowLook& look : row.looks) {
      batch.push_back(row_program(session.info(), cache, block_bytes, row, look.lines, isolation));
      looks.push_back(&look);
    }
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  for (std::size_t i = 0; i < looks.size(); ++i) {
    const Histogram timed = recorded_histogram((*traces)[i]);
    const auto rounds = static_cast<double>(rounds_for(looks[i]->lines));
    looks[i]->told = static_cast<double>(count_from(timed, cache.front_threshold_cycles)) / rounds;
    looks[i]->missed = static_cast<double>(count_from(timed, cache.levels.threshold_cycles)) / rounds;
  }
  return {};
}

DecidingCurve rows_curve(std::string_view memory, std::string_view quantity, const SpacedRows& rows,
                         std::uint64_t block_bytes, std::uint64_t size_bytes) {
  DecidingCurve curve = make_curve(memory, quantity, {"from the first line to the last", "B", false},
                                   {"lines lost in a round", "", false});
  for (const SpacedRow& row : rows.rows) {
    if (curve.series.size() == most_series) break;
    Series series{fmt::format("every {} B from {} on", row.apart * block_bytes, row.first * block_bytes), {}};
    for (const RowLook& look : row.looks)
      series.points.emplace_back(static_cast<double>(look.lines * row.apart * block_bytes), look.missed);
    curve.series.push_back(std::move(series));
  }
  curve.change = static_cast<double>(size_bytes);
  return curve;
}

}  // namespace

std::optional<SpacedFit> fit_of_row(const SpacedRow& row) {
  const auto overflows =
      std::find_if(row.looks.begin(), row.looks.end(), [](const RowLook& look) { return look.missed > half_a_line; });
  if (overflows == row.looks.begin() || overflows == row.looks.end()) return std::nullopt;
  const auto lost = static_cast<std::uint64_t>(std::lround(overflows->missed));
  SpacedFit fit{overflows->lines - 1, 0};
  if (lost < 2 || fit.lines % (lost - 1) != 0) return std::nullopt;
  fit.sets = fit.lines / (lost - 1);
  // To the end, and with nothing answered in front where it matters.
  if (row.looks.back().lines < fit.lines + fit.sets) return std::nullopt;
  const bool agrees = std::all_of(overflows - 1, row.looks.end(), [&](const RowLook& look) {
    return is_told(look) && std::fabs(look.missed - lost_of(fit, look.lines)) < half_a_line;
  });
  return agrees ? std::optional(fit) : std::nullopt;
}

std::optional<SpacedCapacity> capacity_of_rows(const SpacedRows& rows, const SpacedRows& half_as_far) {
  const auto agreed = agreed_fit(rows);
  const bool goes_on_so = agreed && 2 * half_as_far.apart == rows.apart && !half_as_far.rows.empty() &&
                          std::all_of(half_as_far.rows.begin(), half_as_far.rows.end(),
                                      [&](const SpacedRow& row) { return goes_on(row, agreed->fit); });
  if (!goes_on_so) return std::nullopt;
  const SpacedFit& fit = agreed->fit;
  return SpacedCapacity{fit.lines * rows.apart, fit.ways(), fit.sets * rows.apart, agreed->rows};
}

Expected<std::optional<SpacedCapacity>> find_spaced_capacity(Session& session, const CacheFacts& cache,
                                                             std::uint64_t block_bytes, const Interval& bytes,
                                                             Scope isolation) {
  constexpr double fewest_lines = 4, most_lines = 320;  // of a row: longer ones take longer than they are worth
  const auto block = static_cast<double>(block_bytes);
  const Interval blocks{bytes.low / block, bytes.high / block};
  const std::uint64_t room = room_of(session.info(), cache.path.slot) / block_bytes;
  SpacedRows before;
  auto apart = std::bit_floor(static_cast<std::uint64_t>(std::max(1.0, blocks.low / fewest_lines)));
  for (; apart >= 1 && blocks.high <= most_lines * static_cast<double>(apart); apart /= 2) {
    SpacedRows rows = planned_rows(apart, blocks, room);
    if (auto ok = walk_rows(session, cache, block_bytes, isolation, rows); !ok)
      return tl::unexpected<Error>(ok.error());
    if (auto found = capacity_of_rows(before, rows)) {
      for (const char* quantity : {"size", "sets"})
        session.keep(rows_curve(cache.path.id, quantity, before, block_bytes, found->blocks * block_bytes));
      return found;
    }
    before = std::move(rows);
  }
  return std::optional<SpacedCapacity>();
}

}  // namespace gputopo::evidence
