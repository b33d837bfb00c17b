// How an array of lines or entries is organised, as a discovery says it.
#pragma once

#include <string>

#include "device/sim/model.hpp"

namespace gputopo::sim {

Estimate true_number(double value, std::string_view unit = "");
Statement true_text(std::string value);

/// Sets, ways, consecutive lines, index and replacement of an array that holds `lines` lines (or entries).
void state_organisation(Memory& memory, const Organisation& organisation, std::uint64_t lines);

}  // namespace gputopo::sim
