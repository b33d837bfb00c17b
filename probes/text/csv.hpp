// Comma-separated values, for every table that is written so.
#pragma once

#include <string>

namespace gputopo::text {

/// A field as RFC 4180 writes it: quoted where it has to be, quotes doubled.
inline std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace gputopo::text
