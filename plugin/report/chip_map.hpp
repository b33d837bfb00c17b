// Where the SMs sit, as every format shows it under --all: the groups of each kind with their SMs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "topology/topology.hpp"

namespace gputopo::report {

/// All groups of one kind. Numbers are labels without an order of their own.
struct MapLevel {
  std::string_view name;  ///< "GPC", "CPC", "TPC" or "L2 side"
  std::string_view id;    ///< the member of `sm_places`
  struct Group {
    std::uint32_t label = 0;
    std::vector<std::uint32_t> sms;  ///< ascending
  };
  std::vector<Group> groups;  ///< by label
};

/// Widest kind first; kinds that weren't measured are left out.
std::vector<MapLevel> chip_map(const Topology& topology);

/// "0: 0-1 16; 1: 2-3": one kind's groups.
std::string groups_text(const MapLevel& level);

/// "0-1 16": ascending SM ids with ranges.
std::string sm_list(const std::vector<std::uint32_t>& sms);

}  // namespace gputopo::report
