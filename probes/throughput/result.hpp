// What a benchmark found: numbers with their configuration and limit, and the points of plots. Plain data.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "topology/estimate.hpp"
#include "topology/topology.hpp"

namespace gputopo::throughput {

/// The bytes of one run as the program counts them, and as the hardware does; a warming lap is in both.
struct CountedBytes {
  double by_count = 0;
  double by_counter = 0;
};

/// The rates that a figure is the best of, by bytes of something, ascending.
struct ByBytes {
  std::string what;  ///< "in flight, of an SM"
  std::vector<std::pair<double, double>> points;
};

/// One number: a memory's rate, a threshold, a cost.
struct Finding {
  std::string memory;           ///< a Memory id, or what else it is about
  std::string quantity;         ///< "read_bandwidth"
  Estimate estimate;            ///< rates: "B/cycle" of one SM, "B/s" of the GPU; times: "cycles"
  std::string configuration;    ///< the streams that reached it; empty where it isn't one's
  std::optional<double> limit;  ///< what clock and width allow, in the estimate's unit; nothing where that isn't known
  std::optional<CountedBytes> bytes = {};  ///< nothing where nobody counted
  ByBytes by_bytes = {};                   ///< in the estimate's unit; empty where configurations differ otherwise
};

struct Point {
  double x = 0;
  double y = 0;
  Interval range;  ///< from the least to the greatest run
};

struct Series {
  std::string label;
  std::vector<Point> points;
};

struct Plot {
  std::string title;
  std::string x_label;  ///< with its unit
  std::string y_label;
  bool logarithmic_x = false;
  std::vector<Series> series;
};

/// What one benchmark gave.
struct Result {
  std::string name;
  std::vector<Finding> findings;
  std::vector<Plot> plots;
  std::vector<std::string> notes;  ///< what wasn't measured, and why
  double duration_s = 0;
};

/// What a run of `gputopo bench` gave.
struct Report {
  Provenance provenance;
  Gpu gpu;
  std::vector<Result> results;
  bool interrupted = false;  ///< the user ended it: `results` are those that were done
};

}  // namespace gputopo::throughput
