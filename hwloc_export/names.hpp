// The short names and size texts that lstopo shows on a memory's box, and the names of info attributes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/topology.hpp"

namespace gputopo::hwloc_export {

/// "L1d", "Tex", "ConstL1.5", "HBM", ...: what a box is called; the memory's label for an id without a short name.
std::string short_name(const Memory& memory, const Gpu& gpu);

/// "L1d", "ConstL15", ...: the same as part of an attribute's name, letters and digits only.
std::string attribute_name_part(const Memory& memory);

/// Bytes the way hwloc writes them: "240KB" is 240 KiB and a part. Rounded down, one decimal below ten.
std::string size_text(double bytes);

/// " (240KB)", " (>62KB)" for a lower bound, " (<2KB)" for an upper one, "" where there is no value.
std::string size_suffix(const Estimate* size);

/// The catalog's name where it has the attribute in that unit, else one made alike: "miss_penalty" in "cycles" is
/// "MissPenaltyCycles", "size" in "B" is "SizeBytes".
std::string info_name(std::string_view attribute, std::string_view unit);

/// "0-1,16-17": SM ids with ranges, in ascending order.
std::string sm_list(std::vector<std::uint32_t> sms);

/// A number without needless digits: whole numbers as integers, others with up to six significant digits.
std::string number_text(double value);

}  // namespace gputopo::hwloc_export
