#include "store/simulated.hpp"

#include <string>

#include "topology/json.hpp"

namespace gputopo::store {

Expected<Topology> simulated_topology(std::string_view name) {
  std::string names;
  for (const SimulatedText& text : simulated_texts()) {
    if (text.name == name) return parse_topology(text.json);
    names += (names.empty() ? "" : ", ") + std::string(text.name);
  }
  std::string shown(name.substr(0, 64));
  return fail(Error::Kind::bad_input, "no simulated GPU is called '" + shown + "': take one of " + names);
}

}  // namespace gputopo::store
