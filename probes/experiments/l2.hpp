// The L2: latency, sector, line, size, and the partitions it falls into.
//
// On GPUs with a two-sided L2 (NVIDIA from the A100 on) an SM sees copies of far lines in its own side: up to one
// side's capacity everything hits near; beyond it lines whose home is far hit there, more slowly; device memory comes
// in for lines at home on the near side first, and for far ones past the whole capacity.
#pragma once

#include "experiments/session.hpp"
#include "topology/topology.hpp"

namespace gputopo::experiments {

struct L2 {
  Memory memory;
  std::uint64_t capacity_bytes = 0;  ///< best knowledge: measured, else the driver's; 0 where there is no L2
  double overhead_cycles = 0;        ///< of timing a load
  double latency_cycles = 0;         ///< near hit; where there is no L2, of any load past L1
};

Expected<L2> measure_l2(Session& session);

}  // namespace gputopo::experiments
