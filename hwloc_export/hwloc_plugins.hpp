// hwloc/plugins.h for C++: up to hwloc 2.14 it declares its functions without saying that they are C.
#pragma once

#include <hwloc.h>

extern "C" {
#include <hwloc/plugins.h>
}
