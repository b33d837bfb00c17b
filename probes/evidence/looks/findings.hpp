// What experiments have found so far, for the ones that build on it.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/inference/levels.hpp"
#include "evidence/inference/modes.hpp"
#include "evidence/inference/sameness.hpp"
#include "evidence/looks/walks.hpp"
#include "topology/topology.hpp"

namespace gputopo::evidence {

class LineTimes;

/// What is walked to push constants out of the nearest cache: half of their bank, or all other modules' banks, where
/// that cache holds a bank.
enum class PushedBy { half_a_bank, other_banks };

/// A cache as later experiments walk it.
struct CacheFacts {
  CachePath path;
  bool present = false;
  Levels levels;                   ///< of its path: hits of this cache against what lies behind
  double latency_cycles = 0;       ///< of a hit, the load alone
  double overhead_cycles = 0;      ///< of timing a load of this path, told by its lower quartile
  double quartile_cycles = 0;      ///< the part of it by which that lies above the middle of such loads
  std::vector<double> by_line;     ///< of the L2 and of memory: what each of some lines takes from SM 0, as timed
  Histogram walked;                ///< all loads of the walks that its size was searched by, as timed
  std::optional<Mode> next_level;  ///< of the L2: the cache behind it, as timed, where there is one
  Histogram next_loads;            ///< of the L2: lines that it lost, brought by what is behind it, as timed
  /// Of the L2, what such lines take more than hits of theirs, cycles, where distances hide which of them a cache
  /// behind brings.
  Histogram later_by_line;
  bool is_before_memory = false;  ///< of the L2: what it loses comes from memory
  /// Of constants: loads that take so long were served further on than by what is right behind, whose near lines may be
  /// as fast as hits; 0 where these can't be.
  double behind_next_cycles = 0;
  bool is_before_another = false;  ///< what it loses comes from a cache that has no name here
  /// The memory that what it loses comes from, where its path may pass by the L2: empty if that couldn't be told.
  std::optional<std::string_view> served_by;
  std::uint64_t sector_bytes = 0;
  std::uint64_t line_bytes = 0;
  std::uint64_t capacity_bytes = 0;    ///< 0 where unknown
  std::uint32_t warm_laps = 3;         ///< until its steady state
  std::uint64_t front_line_bytes = 0;  ///< what a cache in front of it asks for at once; 0: none
  std::uint64_t front_capacity_bytes = 0;
  double front_threshold_cycles = 0;  ///< what is faster was served by that one
  std::uint64_t bank_bytes = 0;       ///< it is larger than a module's bank, of so much, and walked over several
  std::uint64_t room_lines = 0;       ///< of its buffer that may be walked; 0: all
  LineTimes* line_times = nullptr;    ///< what each line's hits take, taken off before thresholds; null: all alike
  PushedBy pushed_by = PushedBy::half_a_bank;
  std::uint64_t pushed_out_by_bytes = 0;  ///< lines of it were seen to be lost to so much, themselves included; 0: none

  Contamination contamination() const { return levels.contamination(); }
  /// One load a line, or more where the line isn't known.
  std::uint64_t stride() const {
    constexpr std::uint64_t least = 32;  // no line there has been is shorter
    return line_bytes != 0 ? line_bytes : sector_bytes != 0 ? sector_bytes : least;
  }
  /// What a miss asks of the level behind.
  std::uint64_t asked_bytes() const { return sector_bytes != 0 ? std::min(sector_bytes, stride()) : stride(); }
  /// A little more than it holds: what it loses of that round and round, a level right behind has even if not much
  /// larger.
  std::uint64_t circle_bytes() const { return (capacity_bytes * 9 / 8 / stride() + 1) * stride(); }
  /// Of loads a stride apart, the share that misses where nothing fits: all, or unknown (negative) where a miss may
  /// bring in what several of them ask for.
  double saturation() const { return line_bytes != 0 || sector_bytes != 0 ? 1 : -1; }
  bool can_be_filled() const { return present && capacity_bytes != 0 && levels.usable(); }
};

/// What TLBs keep of translations, as far as it was asked and could be told.
struct KeptTranslation {
  std::optional<bool> in_a_large_page;   ///< a line's, after a load of another line of its 64 KiB
  std::optional<double> missing_cycles;  ///< what a line that the L2 has takes, as timed, where nothing brought its own
};

struct Findings {
  Topology topology;
  std::map<std::string, CacheFacts, std::less<>> caches;
  bool others_fill_l2 = false;      ///< another program brings lines into the L2 all the time
  bool others_fill_sms = false;     ///< and into caches of SMs
  bool others_may_copy = false;     ///< the L2 holds less than the driver says, as beside copies to and from the GPU
  bool others_delay_loads = false;  ///< more loads of the L2 wait than strangers make
  bool lines_have_sides = false;    ///< a line of the L2 lives on one side, and is far from the SMs of the others
  bool may_have_sides = false;      ///< that, or distance: which of both isn't known
  LinesApart lines_apart =
      in_a_small_page;  ///< so that each one's translation is there, and memory's row isn't, as far as is known
  bool memory_in_open_rows = false;  ///< those may lie in open rows of DRAM, from which loads are nearer
  std::optional<KeptTranslation>
      kept_translation;  ///< as evidence/memory/kept_translation.hpp asks it; nothing before that
  /// What some SMs bring in others find beyond their own L2 and nearer than memory: sides that keep copies of what
  /// their own SMs read, or a cache behind several L2s. Nothing where there is no such thing.
  struct Beyond {
    std::size_t sets = 0;  ///< of SMs
    Estimate latency;      ///< cycles, the load alone
    std::uint64_t samples = 0;
  };
  std::optional<Beyond> beyond_own_l2;
  /// Footprints before memory answers, and where some of these are slower than hits, those before that and what is then
  /// slower: lines of the L2's other side, or of a cache behind it.
  struct BeyondNear {
    Estimate near;
    Mode slower;
    Levels levels;                 ///< of what is near against what isn't
    std::vector<Estimate> by_set;  ///< what SMs of each set (L2Sets) find near, where that was counted
  };
  Estimate l2_before_memory;
  Levels l2_levels;                    ///< what it found there against what it didn't, by which that was measured
  std::vector<double> l2_cold_words;   ///< what words in a row take that nobody has loaded before, as timed
  Histogram l2_cold_in_a_row;          ///< each load of such words that no two lie in one line of
  bool l2_words_from_a_cache = false;  ///< some of these come from a cache behind it that has longer sectors
  /// What lines that it just lost take, where all that is slower than a hit was lost: then the above is the L2's alone.
  std::optional<Histogram> lost_by_l2;
  std::optional<BeyondNear> beyond_near_l2;
  /// SMs that find near what any other of their set brought in.
  struct L2Sets {
    std::vector<std::vector<std::uint32_t>> sets;
    bool shares = false;  ///< what another set brought in comes sooner than from memory, though later than what is near
    std::vector<double> far;  ///< what such loads took, as timed
    std::uint64_t samples = 0;
    std::string why_open;  ///< empty where the sets are known
  };
  std::optional<L2Sets> l2_sets;
  /// What lines take, as timed, that SMs of another set had brought in; nothing where there are no such sets.
  Histogram brought_by_others() const;

  /// Whether lines that an SM brought into the L2 may be near or far, for all that is known.
  bool may_lines_be_far() const;
  /// What an SM finds near of what the L2 holds, at least, bytes: a side's part, where it has sides or may have some;
  /// by the driver's size where it wasn't measured, 0 where neither is known. Nothing where there is no L2.
  std::optional<std::uint64_t> near_l2_bytes(const device::DeviceInfo& info) const;
  /// What a far line of the L2 takes longer than a near one, where lines have sides.
  std::optional<double> far_less_near_cycles() const;
  /// Numbers the SMs' places by the side of the L2 that they lie on.
  void place_sms(const std::vector<std::vector<std::uint32_t>>& by_side);
  /// The sets are the L2's sides: says so, with what the other side's lines take, and numbers the SMs' places by them.
  void state_sides_by_sets();

  CacheFacts* cache(std::string_view id) {
    const auto it = caches.find(id);
    return it == caches.end() ? nullptr : &it->second;
  }
  /// The memory of that id, made where there is none yet.
  Memory& memory(std::string_view id) {
    if (Memory* m = topology.find(id)) return *m;
    topology.memories.push_back({});
    topology.memories.back().id = id;
    return topology.memories.back();
  }
};

}  // namespace gputopo::evidence
