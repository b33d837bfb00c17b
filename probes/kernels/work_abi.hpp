// What the host and the workloads' kernels agree on. Plain data, included by both compilers.
#pragma once

#include <cstdint>

#include "kernels/stream_abi.hpp"

namespace gputopo::kernels {

struct WorkArguments {
  std::uint64_t buffers[3];  ///< addresses; 0 where a workload has none
  StreamBlock* blocks;       ///< one a block; null: not timed
  const std::uint32_t* input;
  std::uint32_t* output;
  std::uint32_t* sink;  ///< never written, which the compiler can't know
  std::uint64_t n[4];   ///< Workload::numbers
  std::uint32_t zero;   ///< 0, which the compiler can't know
};

}  // namespace gputopo::kernels
