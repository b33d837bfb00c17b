// The result everybody exchanges: one GPU's memories with their estimates. Plain data.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/estimate.hpp"
#include "topology/limits.hpp"
#include "topology/provenance.hpp"
#include "topology/statement.hpp"

namespace gputopo {

enum class Kind { cache, scratchpad, memory };
/// The part of the GPU that has one set of `instances_per_scope` instances of a memory.
/// `group` is a group of SMs that nothing names: it becomes a TPC, CPC or GPC only where evidence says which it is.
enum class Scope { sm, tpc, cpc, gpc, partition, gpu, group };

std::string_view to_string(Kind kind);
std::string_view to_string(Scope scope);
std::optional<Kind> parse_kind(std::string_view name);
std::optional<Scope> parse_scope(std::string_view name);

/// Usable bytes of a cache at one configuration of the shared memory that lies in the same array.
struct CarveOut {
  std::uint64_t requested_percent = 0;  ///< what was asked of the driver, percent of the largest carve-out
  Estimate shared_bytes;                ///< the carve-out that was in force, bytes
  Estimate usable_bytes;                ///< what was left to the cache, bytes
  Estimate reserved_bytes;              ///< array size less both: kept by the hardware, bytes
  friend bool operator==(const CarveOut&, const CarveOut&) = default;
};

/// One cache, scratchpad or memory.
struct Memory {
  std::string
      id;  ///< "l1", "texture", "read_only", "constant_l1", "constant_l1_5", "l2", "shared", "device_memory", ...
  Kind kind = Kind::cache;
  std::string label;                                 ///< for people: "L1 data cache"
  std::optional<Scope> scope;                        ///< nothing where it wasn't measured
  std::optional<std::uint32_t> instances_per_scope;  ///< nothing where it wasn't measured
  std::string parent;                                ///< id of the memory that serves its misses; empty at the root
  std::string created;                               ///< of an earlier run: its Provenance::created; else empty
  std::string physical_cache;                  ///< equal ids are one physical cache; empty where it wasn't measured
  Structure structure;                         ///< how scope, instances_per_scope, physical_cache, ... were found
  std::map<std::string, Estimate> attributes;  ///< "size", "line_size", "sector_size", "latency", "miss_penalty", ...
  std::vector<std::vector<std::uint32_t>> sm_groups;  ///< SM ids sharing each instance, where that was measured
  std::vector<CarveOut> carve_outs;                   ///< filled for caches that share their array with shared memory
  std::vector<std::uint32_t> warp_instances;  ///< which of an SM's instances warp w of a block uses, where measured
  std::vector<double> disturbance;            ///< share of warp 0's lines gone after warp w walked lines of its own

  const Estimate* find(std::string_view attribute) const;
  friend bool operator==(const Memory&, const Memory&) = default;
};

/// Two sources for one number: what timing said against what a hardware counter said.
struct CrossCheck {
  std::string memory;  ///< a Memory id
  std::string metric;  ///< the counter's name
  std::uint64_t size_bytes = 0;
  std::uint64_t loads = 0;
  double by_timing = 0;
  double by_counter = 0;
  std::string verdict;                  ///< "equal", "within tolerance", "differs"
  std::uint32_t carve_out_percent = 0;  ///< shared-memory carve-out that was asked for
  friend bool operator==(const CrossCheck&, const CrossCheck&) = default;
};

/// What one test says of two caches.
struct SharingTest {
  std::string method;     ///< "eviction" or "residency"
  std::string verdict;    ///< "same", "apart" or "undecided"
  double lost_share = 0;  ///< of the first cache's lines that ought to be gone if both are one, in [0, 1]
  std::uint64_t samples = 0;
  friend bool operator==(const SharingTest&, const SharingTest&) = default;
};

/// Are two caches one? Tests that can't work for a pair are left out; where two disagree it is inconclusive.
struct SharingCheck {
  std::string first;    ///< a Memory id
  std::string second;   ///< a Memory id, or "instruction" for what holds code
  std::string verdict;  ///< "same", "apart" or "inconclusive"
  std::vector<SharingTest> tests;
  friend bool operator==(const SharingCheck&, const SharingCheck&) = default;
};

/// One SM's place on the chip. Numbers are arbitrary labels of groups; absent where it wasn't measured.
struct SmPlace {
  std::uint32_t sm = 0;
  std::optional<std::uint32_t> tpc, cpc, gpc, l2_partition;
  friend bool operator==(const SmPlace&, const SmPlace&) = default;
};

struct Gpu {
  std::string name;
  std::string uuid;                ///< "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
  std::string pci_bus_id;          ///< "0000:3b:00.0", lower case
  std::string compute_capability;  ///< "9.0"
  std::uint32_t sm_count = 0;
  std::uint64_t clock_khz = 0;           ///< SM clock as the driver states it
  std::uint64_t measured_clock_khz = 0;  ///< that programs ran at, where it was another one
  std::uint64_t memory_clock_khz = 0;    ///< 0 where unknown
  std::uint32_t memory_bus_bits = 0;     ///< 0 where unknown
  Limits limits{};
  friend bool operator==(const Gpu&, const Gpu&) = default;
};

struct Topology {
  Provenance provenance;                 ///< of the latest run
  std::vector<Provenance> earlier_runs;  ///< that memories with a date of their own are from, each once
  Gpu gpu;
  std::vector<Memory> memories;
  std::vector<CrossCheck> crosscheck;
  std::vector<SharingCheck> sharing;
  std::vector<SmPlace> sm_places;

  const Memory* find(std::string_view id) const;
  Memory* find(std::string_view id);
  /// Of the run that a memory of this topology is from.
  const Provenance& run_of(const Memory& memory) const;
  friend bool operator==(const Topology&, const Topology&) = default;
};

/// Cycles to nanoseconds at the SM clock that they are of; nothing where the clock is unknown.
std::optional<double> cycles_to_ns(double cycles, const Gpu& gpu);

}  // namespace gputopo
