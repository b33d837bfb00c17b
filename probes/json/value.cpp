#include "json/value.hpp"

#include <algorithm>

namespace gputopo::json {

double Value::number() const {
  if (const auto* whole = std::get_if<std::uint64_t>(&value_)) return static_cast<double>(*whole);
  if (const auto* negative = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*negative);
  return std::get<double>(value_);
}

const Value* Value::find(std::string_view key) const {
  if (!is_object()) return nullptr;
  const auto it = std::find_if(members().begin(), members().end(), [&](const Member& m) { return m.key == key; });
  return it == members().end() ? nullptr : &it->value;
}

}  // namespace gputopo::json
