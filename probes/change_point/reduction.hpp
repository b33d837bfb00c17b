// From many latencies a row to one number a row.
//
// The geometric mapping: Grundy, Killick & Mihaylov, "High-dimensional changepoint detection via a geometrically
// inspired mapping", Statistics and Computing 30, 2020. Its use on pointer-chase curves: Größler, "Capturing the Memory
// Topology of GPUs", TUM 2022, section 3.3.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "change_point/trace.hpp"

namespace gputopo::change_point {

/// A row in the plane that the mapping leads to.
struct GeometricPoint {
  double distance = 0;       ///< Euclidean distance to the reference vector, cycles
  double angle_radians = 0;  ///< angle between the row and the reference vector, in [0, pi]
};

/// The mapping against the reference vector (reference, ..., reference). The angle of an empty row, of an all-zero row
/// and of reference 0 is 0.
GeometricPoint geometric_mapping(std::span<const double> values, double reference = 1);

/// Distance of every row divided by the root of its length, so that rows of different length compare; cycles.
std::vector<double> distances_per_load(const Trace& trace);

}  // namespace gputopo::change_point
