// What discovery says of how a model's caches are organised, beside what is true of them.
#pragma once

#include <string>
#include <vector>

#include "device/sim/model.hpp"
#include "topology/topology.hpp"

namespace gputopo::test {

enum class Answer { exact, open, wrong };

struct Found {
  std::string memory, quantity;  ///< "l1", "ways"
  std::string truth, found, why;
  Answer answer = Answer::open;
};

/// A deep discovery of the model, of `only` (all where empty). Fails the test where it can't be made.
Topology discovered_deep(const sim::Model& model, const std::vector<std::string>& only);

/// What a discovery finds without being asked for more.
Topology discovered_plainly(const sim::Model& model);

/// Sets, ways, consecutive lines, index and replacement of every cache of `topology` that the model's truth has.
std::vector<Found> organisation_found(const sim::Model& model, const Topology& topology);

/// The same of one memory.
void add_organisation_found(const Memory& truth, const Memory& found, std::vector<Found>& all);

/// A line for people.
std::string text_of(const Found& found);

}  // namespace gputopo::test
