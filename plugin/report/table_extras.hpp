// What the table adds under --all: the memories as boxes, who shares what, where SMs sit, and the detail tables.
#pragma once

#include <cstddef>
#include <string>

#include "report/report.hpp"

namespace gputopo::report {

/// Each part begins with an empty line and a title; parts without data are left out.
std::string table_extras(const Topology& topology, const Options& options);

}  // namespace gputopo::report
