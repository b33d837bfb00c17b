// Damage to texts, as accidents and attackers do it. The same seed gives the same damage.
#pragma once

#include <random>
#include <string>
#include <string_view>

namespace gputopo::hostile {

using Random = std::mt19937_64;

/// One of: cut short, a bit flipped, a few bytes altered, trailing garbage, a control character put in. For any text.
std::string damaged_bytes(std::string_view text, Random& random);

/// One of: a value replaced by another one or by something huge, negative, empty, long, deep or of another type, a
/// digit changed, a member doubled, a name replaced by a long one or one with control characters. For JSON, and near
/// enough for XML.
std::string damaged_values(std::string_view json, Random& random);

/// Rows made shorter, longer, endless, strange; numbers out of range. For traces.
std::string damaged_rows(std::string_view csv, Random& random);

}  // namespace gputopo::hostile
