#include "report/chip_map.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include <fmt/format.h>

namespace gputopo::report {
namespace {

struct PlaceKind {
  std::string_view name;
  std::string_view id;
  std::optional<std::uint32_t> SmPlace::*member;
};

constexpr std::array<PlaceKind, 4> kinds{{{"L2 side", "l2_partition", &SmPlace::l2_partition},
                                          {"GPC", "gpc", &SmPlace::gpc},
                                          {"CPC", "cpc", &SmPlace::cpc},
                                          {"TPC", "tpc", &SmPlace::tpc}}};

}  // namespace

std::vector<MapLevel> chip_map(const Topology& topology) {
  std::vector<MapLevel> levels;
  for (const PlaceKind& kind : kinds) {
    std::map<std::uint32_t, std::vector<std::uint32_t>> by_label;
    for (const SmPlace& place : topology.sm_places)
      if (const auto label = place.*kind.member) by_label[*label].push_back(place.sm);
    if (by_label.empty()) continue;
    MapLevel& level = levels.emplace_back(MapLevel{kind.name, kind.id, {}});
    for (auto& [label, sms] : by_label) {
      std::sort(sms.begin(), sms.end());
      level.groups.push_back({label, std::move(sms)});
    }
  }
  return levels;
}

std::string sm_list(const std::vector<std::uint32_t>& sms) {
  std::vector<std::uint32_t> sorted = sms;
  std::sort(sorted.begin(), sorted.end());
  std::string text;
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t last = i;
    while (last + 1 < sorted.size() && sorted[last + 1] == sorted[last] + 1) ++last;
    if (!text.empty()) text += ' ';
    text += last == i ? fmt::format("{}", sorted[i]) : fmt::format("{}-{}", sorted[i], sorted[last]);
    i = last + 1;
  }
  return text;
}

std::string groups_text(const MapLevel& level) {
  std::string text;
  for (const MapLevel::Group& group : level.groups)
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", group.label, sm_list(group.sms));
  return text;
}

}  // namespace gputopo::report
