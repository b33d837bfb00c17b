// What must hold for any bytes that somebody calls a model.
#pragma once

#include <string_view>

namespace gputopo::fuzz {

/// Reads the text as a model, and where it is accepted writes its true topology, reads that back, and runs small
/// programs, streams and workloads on it. Aborts where an error isn't one printable line or the topology doesn't come
/// back as it was.
void check_model(std::string_view text);

}  // namespace gputopo::fuzz
