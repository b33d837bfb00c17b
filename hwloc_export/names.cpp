#include "hwloc_export/names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "catalog/catalog.hpp"

namespace gputopo::hwloc_export {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

constexpr std::array<Pair, 6> unit_names{{{"B", "Bytes"},
                                          {"cycles", "Cycles"},
                                          {"ns", "Ns"},
                                          {"B/cycle", "BytesPerCycle"},
                                          {"B/s", "BytesPerSecond"},
                                          {"", ""}}};

template <class T, std::size_t N>
const T* value_of(const std::array<std::pair<std::string_view, T>, N>& table, std::string_view key) {
  for (const auto& [name, value] : table)
    if (name == key) return &value;
  return nullptr;
}

// "miss_penalty" to "MissPenalty"; whatever is neither letter nor digit only separates.
std::string camel_case(std::string_view text) {
  std::string result;
  bool capital = true;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) == 0) {
      capital = true;
      continue;
    }
    result += capital ? static_cast<char>(std::toupper(byte)) : c;
    capital = false;
  }
  return result;
}

}  // namespace

std::string short_name(const Memory& memory, const Gpu& gpu) {
  // Buses of graphics memory end at 512 bits; those of stacked memory begin at 1024.
  constexpr std::uint32_t narrowest_hbm_bits = 1024;
  if (memory.id == "device_memory" && gpu.memory_bus_bits >= narrowest_hbm_bits) return "HBM";
  if (const auto* row = catalog::find_memory(memory.id)) return std::string(row->hwloc);
  return memory.label.empty() ? memory.id : memory.label;
}

std::string attribute_name_part(const Memory& memory) {
  const auto* row = catalog::find_memory(memory.id);
  if (row == nullptr) return camel_case(memory.id);
  std::string part(row->hwloc);
  std::erase(part, '.');
  return part;
}

std::string size_text(double bytes) {
  constexpr std::array<std::string_view, 5> units{"B", "KB", "MB", "GB", "TB"};
  constexpr double step = 1024;
  std::size_t unit = 0;
  for (; bytes >= step && unit + 1 < units.size(); ++unit) bytes /= step;
  const bool one_decimal = bytes < 10 && bytes != std::floor(bytes);
  return one_decimal ? fmt::format("{:.1f}{}", std::floor(bytes * 10) / 10, units[unit])
                     : fmt::format("{:.0f}{}", std::floor(bytes), units[unit]);
}

std::string size_suffix(const Estimate* size) {
  if (size == nullptr || !size->value) return {};
  if (size->status == Status::lower_bound) return fmt::format(" (>{})", size_text(*size->value));
  if (size->status == Status::upper_bound) return fmt::format(" (<{})", size_text(*size->value));
  return is_usable(*size) ? fmt::format(" ({})", size_text(*size->value)) : std::string();
}

std::string info_name(std::string_view attribute, std::string_view unit) {
  const auto* row = catalog::find_attribute(attribute);
  if (row != nullptr && row->id == attribute && row->unit == unit) return std::string(row->hwloc);
  const auto* suffix = value_of(unit_names, unit);
  return camel_case(attribute) + (suffix != nullptr ? std::string(*suffix) : camel_case(unit));
}

std::string number_text(double value) {
  constexpr double exact_limit = 9007199254740992.0;  // 2^53
  if (value == std::floor(value) && std::fabs(value) <= exact_limit) return fmt::format("{:.0f}", value);
  return fmt::format("{:.6g}", value);
}

std::string sm_list(std::vector<std::uint32_t> sms) {
  std::sort(sms.begin(), sms.end());
  std::string text;
  for (std::size_t first = 0; first < sms.size();) {
    std::size_t last = first;
    while (last + 1 < sms.size() && sms[last + 1] == sms[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += first == last ? fmt::format("{}", sms[first]) : fmt::format("{}-{}", sms[first], sms[last]);
    first = last + 1;
  }
  return text;
}

}  // namespace gputopo::hwloc_export
