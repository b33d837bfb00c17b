// The kernels as they lie in this program.
#pragma once

#include "device/cuda/schedule.hpp"

namespace gputopo::device::cuda {

struct Image {
  const void* machine_code;  ///< a fatbin by nvcc; null where this program was built without a CUDA toolkit
  const char* ptx;           ///< for the driver to assemble: compute capability 7.0 and newer, driver 470 and newer
  const char* function;      ///< the kernel's name in it
};

Image image_of(Kernel kernel);

/// The streams' kernels, and the workloads', each in one image: `function` is only the beginning of their names.
Image stream_image();
Image work_image();

}  // namespace gputopo::device::cuda
