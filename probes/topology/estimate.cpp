#include "topology/estimate.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace gputopo {
namespace {

constexpr std::array<std::pair<Status, std::string_view>, 7> status_names{{
    {Status::measured, "measured"},
    {Status::api, "api"},
    {Status::lower_bound, "lower_bound"},
    {Status::upper_bound, "upper_bound"},
    {Status::not_supported, "not_supported"},
    {Status::inconclusive, "inconclusive"},
    {Status::truth, "truth"},
}};

}  // namespace

std::string_view to_string(Status status) {
  for (const auto& [value, name] : status_names)
    if (value == status) return name;
  return "inconclusive";
}

std::optional<Status> parse_status(std::string_view name) {
  for (const auto& [value, text] : status_names)
    if (text == name) return value;
  return std::nullopt;
}

bool is_interval_kind(std::string_view name) {
  return std::find(interval_kinds.begin(), interval_kinds.end(), name) != interval_kinds.end();
}

bool is_usable(const Estimate& estimate) {
  return estimate.has_value() &&
         (estimate.status == Status::measured || estimate.status == Status::api || estimate.status == Status::truth);
}

bool is_confirmed_by_counters(const Estimate& estimate) {
  return is_usable(estimate) && std::string_view(estimate.note).ends_with(confirmed_by_counters);
}

}  // namespace gputopo
