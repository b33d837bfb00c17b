// Traces of real GPUs, unpacked from tests/fixtures/traces.
#pragma once

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "change_point/trace.hpp"

namespace gputopo::change_point::testing {

inline std::string recorded_path(const std::string& name) {
  return std::string(GPUTOPO_BINARY_DIR) + "/tests/traces/" + name;
}

/// Rows of comma-separated numbers, the first one the control value. Empty where the file can't be read.
inline Trace recorded_trace(const std::string& name) {
  Trace trace;
  std::ifstream file(recorded_path(name));
  for (std::string line; std::getline(file, line);) {
    Row row;
    std::stringstream fields(line);
    bool first = true;
    for (std::string field; std::getline(fields, field, ',');) {
      const double value = std::strtod(field.c_str(), nullptr);
      if (first) {
        row.control = value;
        first = false;
      } else {
        row.values.push_back(value);
      }
    }
    trace.rows.push_back(std::move(row));
  }
  return trace;
}

}  // namespace gputopo::change_point::testing
