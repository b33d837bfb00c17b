#include "catalog/catalog.hpp"

#include <algorithm>

namespace gputopo::catalog {
namespace {

template <class Row>
const Row* row_of(std::span<const Row> rows, std::string_view id) {
  const auto it = std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.id == id; });
  return it == rows.end() ? nullptr : &*it;
}

// "far_latency_from_side_1" without its number; the id itself where it has none.
std::string_view family_of(std::string_view id) {
  const std::size_t digits = id.find_last_not_of("0123456789");
  const bool has_number = digits != std::string_view::npos && digits + 1 < id.size() && id[digits] == '_';
  return has_number ? id.substr(0, digits) : id;
}

}  // namespace

const MemoryRow* find_memory(std::string_view id) {
  return row_of(memories(), id);
}

const AttributeRow* find_attribute(std::string_view id) {
  const AttributeRow* own = row_of(attributes(), id);
  return own != nullptr ? own : row_of(attributes(), family_of(id));
}

std::string_view nearest_parent(const MemoryRow& row, const std::function<bool(std::string_view)>& has) {
  for (const std::string_view parent : row.parents)
    if (!parent.empty() && has(parent)) return parent;
  return {};
}

}  // namespace gputopo::catalog
