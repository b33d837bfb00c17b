// Bytes between L2 and memory of the strided vector product c[i s] = a[i s] b[i s], predicted from measured properties.
//
// After Monil, Lee, Vetter and Malony, "Comparing LLC-memory Traffic between CPU and GPU Architectures" (2021), whose
// model multiplies reads by a factor of 1.6 "of the prefetcher" from Volta on. No factor is needed where two units are
// told apart: memory is read in pieces of the fetch granularity, and a store to part of a sector makes memory read that
// sector alone; (2 x 64 + 32) / (3 x 32) = 1.67.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "error/error.hpp"
#include "topology/topology.hpp"

namespace gputopo::throughput {

/// What the prediction rests on, with where it is from.
struct TrafficProperties {
  std::uint64_t fetch_bytes = 0;  ///< that a load's miss in the L2 brings from memory: the L2's sector, as loads see it
  std::uint64_t sector_bytes = 0;  ///< filled and written back as one: the L1's sector
  std::uint64_t l2_bytes = 0;      ///< what may wait there at the kernel's end
  bool simulated = false;
};

/// From a topology's L1 and L2, measured or of a model. Where the L1's sector isn't known, or is no part of what the L2
/// fetches, sectors are 32 B, as on every GPU that has had them since Fermi (Mei and Chu 2017). `unavailable` without
/// the L2's.
Expected<TrafficProperties> traffic_properties(const Topology& topology);

/// Bytes, all with what is still in the L2 when the kernel ends.
struct Traffic {
  double read_by_loads = 0;   ///< of both factors
  double read_by_stores = 0;  ///< of the product: sectors that stores fill only in part
  double written = 0;
  double waiting = 0;  ///< at most so much of what is written, and of what stores read, comes after the kernel's end
  double read_later = 0, written_later = 0;  ///< of these so much, where it is known what waits

  /// What has passed when the kernel ends.
  double until_the_end() const { return all() - read_later - written_later; }

  double read() const { return read_by_loads + read_by_stores; }
  double all() const { return read() + written; }
};

/// What of long vectors waits in the L2 at a kernel's end: sectors that stores fill in part have yet to be read, and
/// written ones to be written back. It is a number of lines, so it depends on how much of a line is written.
struct Waiting {
  struct Bytes {
    double read = 0, written = 0;
  };
  std::map<std::uint64_t, Bytes> by_stride;
};

/// Strides that tell all of it: whole lines, whole lines of sectors in part, and ever fewer sectors down to one.
std::vector<std::uint64_t> strides_of_waiting(const TrafficProperties& properties);

/// Of vectors of `vector_bytes` each, in elements of 4 bytes, every `stride`-th of which is used: threads side by side
/// use neighbouring ones, so what a warp asks for is fetched once. `stride` from 1 on.
Traffic predict_traffic(const TrafficProperties& properties, double vector_bytes, std::uint64_t stride,
                        const Waiting& waiting = {});

/// The published model (table II of Monil et al.): until the kernel's end, of GPUs before Volta or since.
Traffic published_traffic(double vector_bytes, std::uint64_t stride, bool since_volta);

}  // namespace gputopo::throughput
