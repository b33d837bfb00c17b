#include "change_point/reduction.hpp"

#include <algorithm>
#include <cmath>

#include "stop/stop.hpp"

namespace gputopo::change_point {

GeometricPoint geometric_mapping(std::span<const double> values, double reference) {
  double squared_distance = 0;
  double squared_length = 0;
  double sum = 0;
  for (const double value : values) {
    squared_distance += (value - reference) * (value - reference);
    squared_length += value * value;
    sum += value;
  }
  GeometricPoint point{std::sqrt(squared_distance), 0};
  const double lengths = std::sqrt(squared_length * static_cast<double>(values.size())) * std::abs(reference);
  if (lengths > 0) {
    point.angle_radians = std::acos(std::clamp(sum * reference / lengths, -1.0, 1.0));
  }
  return point;
}

std::vector<double> distances_per_load(const Trace& trace) {
  std::vector<double> distances;
  distances.reserve(trace.rows.size());
  for (const auto& row : trace.rows) {
    stop::look();
    const double loads = static_cast<double>(std::max<std::size_t>(1, row.values.size()));
    distances.push_back(geometric_mapping(row.values).distance / std::sqrt(loads));
  }
  return distances;
}

}  // namespace gputopo::change_point
