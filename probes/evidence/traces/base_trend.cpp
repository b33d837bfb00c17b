#include "evidence/traces/base_trend.hpp"

#include <algorithm>
#include <cmath>

namespace gputopo::evidence {
namespace {

using change_point::Observation;

// Least squares: means of rows by their footprints.
struct Line {
  double rows = 0, footprint = 0, level = 0;  // means
  double squares = 0;                         // of footprints beside theirs
  double slope = 0, deviation = 0;            // of one row

  double beside(const Observation& row) const { return row.level() - level - slope * (row.control - footprint); }
  double deviation_at(double bytes) const {
    return deviation * std::sqrt(1 + 1 / rows + (bytes - footprint) * (bytes - footprint) / squares);
  }
};

Line line_through(std::span<const Observation> rows) {
  constexpr double finest = 1e-6;  // of a level: rounding alone makes as much
  Line line;
  line.rows = static_cast<double>(rows.size());
  for (const Observation& row : rows) line.footprint += row.control / line.rows, line.level += row.level() / line.rows;
  double product = 0, left = 0;
  for (const Observation& row : rows) {
    line.squares += (row.control - line.footprint) * (row.control - line.footprint);
    product += (row.control - line.footprint) * (row.level() - line.level);
  }
  line.slope = product / line.squares;
  for (const Observation& row : rows) left += line.beside(row) * line.beside(row);
  line.deviation = std::max(finest * line.level, std::sqrt(left / (line.rows - 2)));
  return line;
}

}  // namespace

std::size_t rows_on_trend(std::span<const Observation> rows, std::size_t fitting) {
  constexpr std::size_t fewest = 4;
  constexpr double deviations = 4;
  if (fitting < fewest) return fitting;
  const Line line = line_through(rows.first(fitting));
  if (line.slope * std::sqrt(line.squares) <= deviations * line.deviation) return fitting;
  std::size_t end = fitting;
  while (end < rows.size() && std::abs(line.beside(rows[end])) <= deviations * line.deviation_at(rows[end].control))
    ++end;
  return end;
}

}  // namespace gputopo::evidence
