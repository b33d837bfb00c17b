// What must hold for any bytes that somebody calls a recording.
#pragma once

#include <string>
#include <string_view>

namespace gputopo::fuzz {

/// Reads the text as a recording, and once more with a checksum that fits, without which nothing that was changed would
/// be looked at. Aborts where an error isn't one printable line, or what is accepted isn't written and read back bit
/// for bit.
void check_recording(std::string_view text);

/// The same recording with the checksum that fits what stands in it (docs/formats.md); empty where the text is no JSON
/// or lacks what the checksum is of.
std::string sealed_recording(std::string_view text);

}  // namespace gputopo::fuzz
