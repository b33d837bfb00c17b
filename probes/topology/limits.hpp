// What a GPU allows a program: numbers that the driver tells, and that no experiment is made for.
#pragma once

#include <cstdint>

namespace gputopo {

/// 0 where unknown.
struct Limits {
  std::uint64_t cores_per_sm = 0;  ///< FP32 lanes; of NVIDIA's tables, since no driver tells
  std::uint64_t threads_per_warp = 0;
  std::uint64_t threads_per_block = 0;
  std::uint64_t threads_per_sm = 0;
  std::uint64_t blocks_per_sm = 0;
  std::uint64_t shared_bytes_per_block = 0;  ///< shared memory that a block gets without asking for more
  std::uint64_t constant_bytes = 0;          ///< of one module
  friend bool operator==(const Limits&, const Limits&) = default;
};

/// Calls visit(name, member) for each, so that what reads and writes them has one list.
template <class AnyLimits, class Visitor>
void visit_limits(AnyLimits& limits, const Visitor& visit) {
  visit("cores_per_sm", limits.cores_per_sm);
  visit("threads_per_warp", limits.threads_per_warp);
  visit("threads_per_block", limits.threads_per_block);
  visit("threads_per_sm", limits.threads_per_sm);
  visit("blocks_per_sm", limits.blocks_per_sm);
  visit("shared_bytes_per_block", limits.shared_bytes_per_block);
  visit("constant_bytes", limits.constant_bytes);
}

}  // namespace gputopo
