#include "model_check.hpp"

#include "device/sim/model.hpp"
#include "one_line.hpp"
#include "topology/json.hpp"

namespace gputopo::fuzz {

void check_model(std::string_view text) {
  const auto model = sim::parse_model(text, "fuzzed");
  if (!model) return require_one_line(model.error().message);
  const Topology truth = sim::truth(*model);
  static_cast<void>(sim::remarks(*model));
  const std::string written = to_json_text(truth);
  const auto read = read_topology(written);
  require(read && read->has_checksum && to_json_text(read->topology) == written);
}

}  // namespace gputopo::fuzz
