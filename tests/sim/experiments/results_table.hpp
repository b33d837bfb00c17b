// docs/results-simulated.md: what a discovery finds of each built-in model, beside what is true.
#pragma once

#include <string>

#include "device/sim/model.hpp"
#include "topology/topology.hpp"

namespace gputopo::test {

/// The document's first lines, up to the first model's section.
std::string results_preface();

/// A model's section: one row a statement, under a heading with its name. Ends with an empty line.
std::string results_section(const sim::Model& model, const Topology& found);

/// The section of that model in a document that sections were written to; empty where it has none.
std::string section_in(const std::string& document, const std::string& model_name);

}  // namespace gputopo::test
