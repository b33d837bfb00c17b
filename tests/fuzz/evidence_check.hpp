// What must hold for any bytes that somebody calls evidence.
#pragma once

#include <string>
#include <string_view>

namespace gputopo::fuzz {

/// Reads the text as evidence, and once more with a checksum that fits, without which nothing that was changed would be
/// looked at. Aborts where an error isn't one printable line, what is accepted isn't written and read back as it is, or
/// the page of it has a number that isn't finite.
void check_evidence(std::string_view text);

/// The same evidence with the checksum that fits what stands in it (docs/formats.md); empty where the text is no JSON
/// object.
std::string sealed_evidence(std::string_view text);

}  // namespace gputopo::fuzz
