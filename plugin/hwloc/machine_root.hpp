// Where the component looks for the kernel's files.
#pragma once

#include <string>

namespace gputopo::hwloc_component {

/// "" in the component that is installed. The tests link another definition, which names a folder with a made-up
/// machine; so the installed one has nothing that anybody could set.
std::string machine_root();

}  // namespace gputopo::hwloc_component
