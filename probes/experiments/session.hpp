// What every experiment needs: the device, the options, and programs over a fixed set of buffers.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "change_point/finding.hpp"
#include "device/device.hpp"
#include "experiments/discover.hpp"

namespace gputopo::experiments {

/// Buffers by purpose. Texture walks have memory of their own: on unified L1 caches a line that a texture fetch brought
/// in stays, misses for every global load of the same address and isn't replaced by it, even in later kernels.
enum Slot : std::uint32_t { slot_global = 0, slot_texture = 1, slot_flush = 2, slot_constant = 3 };

/// A cache as programs see it: a kind of load and the buffer it walks.
struct CachePath {
  std::string_view id;
  std::string_view label;
  program::Path path;
  Slot slot;
};

class Session {
 public:
  Session(device::Device& device, const DiscoverOptions& options) : device_(device), options_(options) {}

  const device::DeviceInfo& info() const { return device_.info(); }
  const DiscoverOptions& options() const { return options_; }
  change_point::Options change_point_options() const;

  /// Runs a batch. `interrupted` once the stop flag is set.
  Expected<std::vector<program::ProgramTrace>> run(const program::Batch& batch);

  /// Tells the progress callback.
  void report(double done, std::string_view what) const;

  /// A part of `slot` that no walk has touched yet, `bytes` long: what lies there is in no SM-private cache.
  std::uint64_t fresh_region(Slot slot, std::uint64_t bytes);

  /// Loads issued so far, all phases.
  std::uint64_t loads() const { return loads_; }

 private:
  device::Device& device_;
  const DiscoverOptions& options_;
  std::vector<std::uint64_t> fresh_;
  std::uint64_t loads_ = 0;
};

/// Size of the global and texture slots; walks that start at 0 stay in the lower half, fresh regions lie above.
inline constexpr std::uint64_t slot_bytes = std::uint64_t{32} << 20;
inline constexpr std::uint64_t sweep_limit_bytes = slot_bytes / 2;

/// An empty program whose buffers are the slots up to `slot`.
program::Program make_program(std::string label, const device::DeviceInfo& info, Slot slot);

/// A walk over `footprint_bytes` of the path's slot, forward, one lane, nothing recorded.
program::Walk make_walk(const CachePath& path, std::uint64_t footprint_bytes, std::uint64_t stride_bytes,
                        std::uint32_t laps);
/// The same, recorded.
program::Walk recorded(program::Walk walk, program::Record record, std::uint32_t laps);

}  // namespace gputopo::experiments
