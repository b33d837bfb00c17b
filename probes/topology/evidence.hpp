// The curves that decided a topology's values. Plain data that lies beside a Topology, not in it, and that only people
// look at: no value is made of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "error/error.hpp"
#include "topology/estimate.hpp"

namespace gputopo {

inline constexpr std::string_view evidence_schema = "gputopo-evidence/1";

/// One axis: what it says, and its unit as in Estimate::unit ("B", "cycles", "" for shares).
struct Axis {
  std::string label;
  std::string unit;
  bool logarithmic = false;
  friend bool operator==(const Axis&, const Axis&) = default;
};

/// Points of one kind, by ascending x.
struct Series {
  std::string label;
  std::vector<std::pair<double, double>> points;
  friend bool operator==(const Series&, const Series&) = default;
};

/// What decided one quantity of one memory.
struct DecidingCurve {
  std::string memory;    ///< a Memory id
  std::string quantity;  ///< an attribute's or a statement's id: "size", "scope"; "levels": what tells hits from misses
  std::string source;    ///< the experiment that measured it: "l1.geometry"
  std::string method;    ///< the estimate's, where it is one: "misses"
  std::uint64_t programs = 0;  ///< that the experiment had run by then
  Axis x, y;
  std::vector<Series> series;
  std::optional<double> change;      ///< where on x the answer lies; nothing where nothing changes
  std::optional<Interval> interval;  ///< of the change, contains it
  friend bool operator==(const DecidingCurve&, const DecidingCurve&) = default;
};

/// Those of one discovery.
struct Evidence {
  std::string uuid;     ///< of the GPU, as in its Topology
  std::string created;  ///< as in the Topology's provenance
  std::vector<DecidingCurve> curves;
  friend bool operator==(const Evidence&, const Evidence&) = default;
};

/// A series' points are two flat lists, `x` and `y`. With a checksum over all the rest as its last member.
nlohmann::ordered_json to_json(const Evidence& evidence);
std::string to_json_text(const Evidence& evidence);

/// Reads what `to_json_text` wrote. Unknown keys are ignored; what is missing, of the wrong type, not finite, or too
/// much (curves, points, numbers beyond 1e18) is `bad_input` with the JSON path, and so is a checksum that doesn't fit.
Expected<Evidence> parse_evidence(std::string_view text);

}  // namespace gputopo
