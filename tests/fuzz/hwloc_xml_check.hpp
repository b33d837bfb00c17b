// What must hold for whatever stands in the objects of gputopo in an XML file that hwloc loads.
#pragma once

#include <string_view>

namespace gputopo::fuzz {

/// Each line of the text, "N WORD", puts WORD in place of the N-th name, subtype, info name or info value of gputopo's
/// objects. hwloc loads that; then every function of gputopo_hwloc.h looks at it, and the GPU is put in once more.
/// Aborts where hwloc's own checks fail. The file's structure is hwloc's to read and isn't touched.
void check_hwloc_xml(std::string_view text);

}  // namespace gputopo::fuzz
