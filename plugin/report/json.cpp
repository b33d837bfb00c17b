#include "topology/json.hpp"

#include <nlohmann/json.hpp>

#include "report/report.hpp"

namespace gputopo::report {

std::string render_json(std::span<const Topology> topologies, const Options& /*options*/) {
  if (topologies.size() == 1) return to_json_text(topologies.front());
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Topology& topology : topologies) list.push_back(to_json(topology));
  return json_text(list);
}

}  // namespace gputopo::report
