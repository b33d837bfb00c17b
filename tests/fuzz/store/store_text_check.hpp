// What must hold for any bytes that somebody leaves in a store's file.
#pragma once

#include <string>
#include <string_view>

namespace gputopo {

/// Reads the text as a stored topology of the GPU and driver that it names itself, and where it is accepted puts it
/// into an hwloc topology as the component does. Aborts where hwloc's own checks fail.
void check_store_text(std::string_view text);

/// The same topology with the checksum that fits it, without which nothing that was changed would be looked at; empty
/// where the text is no JSON object with a checksum.
std::string sealed_topology(std::string_view text);

}  // namespace gputopo
