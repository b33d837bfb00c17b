// All caches and TLBs of a modelled GPU, and the way of a load through them.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "device/sim/replays.hpp"
#include "device/sim/route.hpp"

namespace gputopo::sim {

class Hierarchy {
 public:
  /// Of a cache that launches clear: more than a GPU of today has, and few beside memory.
  static constexpr std::size_t most_kept_units = 256;

  /// `model` must outlive the Hierarchy.
  explicit Hierarchy(const Model& model);

  /// `path` must end at device memory. `probe_private`: caches of the SMs are looked into, never changed.
  Route route(const PathModel& path, std::uint32_t sm, std::uint32_t warp, bool probe_private);
  /// Sends a load along a route. Gives its latency without any noise.
  double load(Route& route, std::uint64_t address, Random& random) {
    const double cycles = send<true>(route, address, random);
    elapsed_cycles_ += cycles;
    return cycles;
  }
  /// The same for a load that nobody times.
  void touch(Route& route, std::uint64_t address, Random& random) { send<false>(route, address, random); }
  /// Sends a store of the word at `address` along a route, as far as it goes.
  void store(Route& route, std::uint64_t address, Random& random);
  /// touch at every multiple of the stride from `address` on, below the end of the footprint: the same outcome in less
  /// time. False, and nothing done, where that can't be had.
  bool sweep(Route& route, std::uint64_t address, std::uint64_t footprint_bytes, std::uint64_t stride_bytes,
             Random& random);
  /// touch for each of them: the same outcome in less time.
  void rounds(Route& route, const Rounds& rounds, Random& random);
  /// A background load: up to the first cache that has the line, and in those before as what is next to go.
  void pass(const Route& route, std::uint64_t address, Random& random);
  /// Shares the array of the cache that shared memory lies in anew; a change empties the cache. Routes made before for
  /// this SM must not be used any more.
  void set_carve_out(std::uint32_t sm, std::uint64_t bytes);
  /// Empties the caches of these SMs that the launch of a program clears. Where a GPU has more of such a cache than
  /// `most_kept_units`, those of other SMs are given up, which their own next launch would empty.
  void launch(const std::vector<std::uint32_t>& sms);

  /// What a neighbour leaves behind: nothing in the SMs' caches and TLBs, and its own lines in `memory_share` of each
  /// cache beyond them.
  void switch_away(double memory_share, Random& random);
  /// Brings one line of a stranger into the caches of a route, beyond the SMs or in the SM.
  void intrude(Route& route, bool beyond, Random& random);
  /// Factor on every latency beyond the SMs: SM cycles are shorter or longer when the SM clock changes.
  void set_clock_ratio(double ratio) { clock_ratio_ = ratio; }

 private:
  void clear_for_launch(std::uint32_t sm);

  static double ask_tlbs(Route& route, Route::Station& s, std::uint64_t address, Random& random) {
    double extra_cycles = 0;
    for (Route::Tlb& t : s.tlbs) {
      const std::uint64_t page = address >> t.page_shift;
      if (page == t.latest_page) break;
      t.latest_page = page;
      if (t.array->access(page, 0, 1, random)) break;
      ++route.tlb_misses;
      extra_cycles += t.miss_cycles;
    }
    return extra_cycles;
  }
  // Cycles that a load from memory saves; leaves its row open.
  double ask_rows(std::uint64_t address) {
    if (open_rows_.empty()) return 0;
    const std::uint64_t row = by_row_.divide(address).quotient;
    std::uint64_t& open = open_rows_[mix(row) % open_rows_.size()];
    const bool is_open = open == row;
    open = row;
    return is_open ? model_->rows->gain_cycles : 0;
  }
  // Cycles that a load waits until memory isn't busy any more.
  double wait_for_refresh() const {
    if (!model_->refresh) return 0;
    const double until_end =
        model_->refresh->period_cycles - std::fmod(elapsed_cycles_, model_->refresh->period_cycles);
    return until_end <= model_->refresh->busy_cycles ? until_end : 0;
  }
  // Cycles that a load waits for the tick at which it leaves the SM, more than loads do on average.
  double wait_for_tick() const {
    const double tick = model_->tick_cycles;
    return tick == 0 ? 0 : tick / 2 - std::fmod(elapsed_cycles_, tick);
  }
  template <bool timed>
  double send(Route& route, std::uint64_t address, Random& random, std::size_t first_station = 0);
  static bool sweep_sets(Route& route, std::uint64_t address, std::uint64_t loads, std::uint64_t stride_bytes,
                         Random& random);
  static void expect(Route& route, std::uint64_t address, std::uint64_t loads, std::uint64_t stride_bytes);
  template <class Onward>
  static void ask_for_lines(Route& route, std::size_t station, std::span<const std::uint64_t> addresses, Random& random,
                            const Onward& onward);
  static void touch_line(Route& route, std::size_t station, std::span<const std::uint64_t> addresses, Random& random);
  void walk_singly(Route& route, const Rounds& rounds, Random& random);
  Replay* replay_of(const Route& route, const Rounds& rounds, bool by_lines);
  template <class Walk>
  static void make_known(Replay& replay, const Route& route, const Walk& walk);
  static bool send_known(const Replay& replay, Route& route, Random& random);
  std::size_t first_unit(std::size_t cache, std::uint32_t sm) const {
    return std::size_t{cache_set_[cache][sm]} * model_->caches[cache].instances;
  }
  CacheUnit& unit(std::size_t cache, std::uint32_t sm, std::uint32_t warp);
  CacheArray& tlb(std::size_t index, std::uint32_t sm);

  const Model* model_;
  std::array<std::vector<std::uint32_t>, 6> group_;             // by Scope: the group of each SM
  std::vector<std::vector<std::uint32_t>> cache_set_;           // by cache: which set of instances each SM has
  std::vector<std::vector<std::uint32_t>> tlb_set_;             // by TLB, likewise
  std::vector<bool> is_beyond_;                                 // by cache
  std::vector<Writes> writes_;                                  // likewise
  std::vector<std::vector<std::unique_ptr<CacheUnit>>> units_;  // by cache, then instance
  std::vector<std::vector<std::unique_ptr<CacheArray>>> tlbs_;  // by TLB, then instance
  std::vector<std::uint64_t> carve_outs_;                       // by SM
  double clock_ratio_ = 1;
  double elapsed_cycles_ = 0;  // of timed loads since the launch
  Divisor by_row_{1};
  std::vector<std::uint64_t> open_rows_;  // by bank
  Replays replays_;
};

template <bool timed>
double Hierarchy::send(Route& route, std::uint64_t address, Random& random, std::size_t first_station) {
  double extra_cycles = 0;
  bool far_memory = false;
  for (std::size_t i = first_station; i < route.stations.size(); ++i) {
    Route::Station& s = route.stations[i];
    extra_cycles += ask_tlbs(route, s, address, random);
    bool far = far_memory;
    if (s.unit != nullptr) {
      const Outcome outcome = s.unit->access(address, s.tag_class, route.partition, s.probe, random);
      if (outcome == Outcome::miss) {
        // Memory lies beside the home that the line has in the cache with sides, whatever lies behind that.
        if (timed && s.unit->is_partitioned()) far_memory = s.unit->home_of(address) != route.partition;
        continue;
      }
      far = outcome == Outcome::far_hit;
    } else {
      extra_cycles += wait_for_refresh() - ask_rows(address);
    }
    if (!timed) return 0;
    route.left_sm = s.beyond;
    if (s.beyond) extra_cycles += wait_for_tick();
    if (s.beyond && route.distances.any()) extra_cycles += route.distances.cycles(address);
    const double cycles = (far ? s.far_latency_cycles : s.latency_cycles) + extra_cycles;
    return s.beyond ? cycles * clock_ratio_ : cycles;
  }
  return extra_cycles;
}

}  // namespace gputopo::sim
