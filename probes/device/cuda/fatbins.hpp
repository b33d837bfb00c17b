// The compiled kernels, embedded into the library.
#pragma once

namespace gputopo::device::cuda {

/// Fat binaries as cuModuleLoadData takes them.
const void* chase_fatbin();
const void* chase_execute_fatbin();
const void* chase_banks_fatbin();

}  // namespace gputopo::device::cuda
