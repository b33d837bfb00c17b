// All caches and TLBs of a modelled GPU, and the way of a load through them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/sim/cache_array.hpp"
#include "device/sim/model.hpp"

namespace gputopo::sim {

enum class Outcome { miss, hit, far_hit };

/// One instance of a cache: one array, or one for each partition. Arrays come into being when first used.
class CacheUnit {
 public:
  CacheUnit(const CacheModel& model, std::uint64_t carve_out);

  /// Looks up the sector at `address` for an SM of `partition`; unless `probe`, brings it in on a miss.
  Outcome access(std::uint64_t address, std::uint32_t tag_class, std::uint32_t partition, bool probe, Random& random);
  /// CacheArray::pass for the sector at `address`.
  bool pass(std::uint64_t address, std::uint32_t tag_class, Random& random);
  /// The partition that an address belongs to.
  std::uint32_t home_of(std::uint64_t address) const { return place_of(address).home; }
  bool is_partitioned() const { return homes_.size() > 1; }
  void clear();

 private:
  struct Place {
    std::uint32_t home;  // partition
    std::uint64_t line;  // its number there
  };
  Place place_of(std::uint64_t address) const;
  bool access_array(CacheArray& array, std::uint64_t line, std::uint32_t tag_class, std::uint32_t sector, bool probe,
                    Random& random) const;
  Outcome access_partitioned(std::uint64_t address, std::uint32_t tag_class, std::uint32_t partition, bool probe,
                             std::uint32_t sector, Random& random);

  const CacheModel* model_;
  std::uint32_t line_shift_, sector_shift_, sector_mask_, all_sectors_;
  Divisor by_interleave_, by_count_;
  std::vector<std::unique_ptr<CacheArray>> homes_;
  std::vector<std::unique_ptr<CacheArray>> copies_;  // PartitionMode::near_copy: what each partition's SMs read last
};

/// A path as one warp of one SM sees it.
struct Route {
  struct Tlb {
    CacheArray* array;
    std::uint32_t page_shift;
    double miss_cycles;
    std::uint64_t latest_page;  ///< of this route's last load: asking for it again would change nothing
  };
  struct Station {
    CacheUnit* unit;  ///< null: device memory
    double latency_cycles, far_latency_cycles;
    std::uint32_t tag_class;
    bool probe;    ///< looked into, never changed
    bool distant;  ///< its latency depends on the place on the chip
    std::vector<Tlb> tlbs;
  };
  std::vector<Station> stations;
  std::uint32_t partition = 0;
  std::uint32_t sm = 0;
};

class Hierarchy {
 public:
  /// `model` must outlive the Hierarchy.
  explicit Hierarchy(const Model& model);

  /// `path` must end at device memory. `probe_private`: caches narrower than the GPU are looked into, never changed.
  Route route(const PathModel& path, std::uint32_t sm, std::uint32_t warp, bool probe_private);
  /// Sends a load along a route. Gives its latency without any noise.
  double load(Route& route, std::uint64_t address, Random& random);
  /// A background load: up to the first cache that has the line, and in those before as what is next to go.
  void pass(const Route& route, std::uint64_t address, Random& random);
  /// Shares the array of the cache that shared memory lies in anew; a change empties the cache. Routes made before for
  /// this SM must not be used any more.
  void set_carve_out(std::uint32_t sm, std::uint64_t bytes);
  /// Empties the caches of an SM that the launch of a program clears.
  void launch(std::uint32_t sm);

 private:
  std::uint32_t group_of(Scope scope, std::uint32_t sm) const { return group_[static_cast<std::size_t>(scope)][sm]; }
  CacheUnit& unit(std::size_t cache, std::uint32_t sm, std::uint32_t warp);
  CacheArray& tlb(std::size_t index, std::uint32_t sm);
  double distance_cycles(std::uint32_t sm, std::uint64_t address) const;

  const Model* model_;
  std::array<std::vector<std::uint32_t>, 6> group_;             // by Scope: the group of each SM
  std::vector<std::vector<std::unique_ptr<CacheUnit>>> units_;  // by cache, then instance
  std::vector<std::vector<std::unique_ptr<CacheArray>>> tlbs_;  // by TLB, then instance
  std::vector<std::uint64_t> carve_outs_;                       // by SM
  bool has_distance_;
};

}  // namespace gputopo::sim
