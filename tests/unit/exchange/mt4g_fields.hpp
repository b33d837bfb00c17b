// What sys-sage 1.1.0 reads of mt4g's format (src/parsers/mt4g.cpp, ParseMt4g_v1_x), as a table to hold files against.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace gputopo::exchange {

struct FieldOfMt4g {
  std::string_view pointer;  ///< JSON pointer
  enum class Presence { required, optional, where_parent_is } presence;
};

/// Everything that is wrong with a file: what sys-sage would abort on, and members that the format doesn't have.
std::vector<std::string> faults_for_sys_sage(const nlohmann::json& file);

}  // namespace gputopo::exchange
