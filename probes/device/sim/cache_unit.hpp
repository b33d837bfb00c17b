// One instance of a cache: one array, or one for each partition.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/sim/cache_array.hpp"
#include "device/sim/model.hpp"
#include "device/sim/residents.hpp"
#include "device/sim/stored_words.hpp"

namespace gputopo::sim {

enum class Outcome { miss, hit, far_hit };

/// Of a line's mask of sectors the bit that says that some of its words were stored by themselves (StoredWords).
inline constexpr std::uint32_t words_bit = 1U << 31;

class CacheUnit {
 public:
  CacheUnit(const CacheModel& model, std::uint64_t carve_out);

  /// Looks up the sector at `address` for an SM of `partition`; unless `probe`, brings it in on a miss.
  Outcome access(std::uint64_t address, std::uint32_t tag_class, std::uint32_t partition, bool probe, Random& random) {
    const std::uint32_t sector = sector_bit(address);
    if (!probe) history_ = unknown;
    if (has_words() && finds_word(address, tag_class, random))
      return homes_.size() == 1 || home_of(address) == partition ? Outcome::hit : Outcome::far_hit;
    if (!probe)
      if (const Outcome known = ask_residents(address, sector, tag_class, partition); known != Outcome::miss)
        return known;
    if (homes_.size() > 1) return access_partitioned(address, tag_class, partition, probe, sector, random);
    return access_array(*homes_.front(), address >> line_shift_, tag_class, sector, probe, random) ? Outcome::hit
                                                                                                   : Outcome::miss;
  }
  /// What a store does beyond this cache.
  struct Stored {
    bool onward = true;         ///< it goes on to the next level
    std::uint32_t fetched = 0;  ///< sectors of its line that the next level has to bring
  };
  /// A store to the word at `address`, for an SM of `partition`.
  Stored store(std::uint64_t address, std::uint32_t tag_class, const Writes& writes, Random& random);
  /// Whether it has words that only access() knows.
  bool has_words() const { return !words_.empty(); }
  /// access for the sectors of one line, all at once. Gives those that were missing.
  std::uint32_t fetch(std::uint64_t address, std::uint32_t sectors, std::uint32_t tag_class, std::uint32_t partition,
                      Random& random) {
    history_ = unknown;
    if (ask_residents(address, sectors, tag_class, partition) != Outcome::miss) return 0;
    const Place place = place_of(address);
    const std::uint32_t missing = homes_[place.home]->fetch(place.line, tag_class, sectors, random);
    changes_ += missing == 0 ? 0 : 1;
    if (!copies_.empty())
      changes_ += copies_[partition]->access(address >> line_shift_, tag_class, sectors, random) ? 0 : 1;
    return missing;
  }
  /// fetch for a load that nobody follows beyond this cache.
  void ask_for(std::uint64_t address, std::uint32_t sectors, std::uint32_t tag_class, std::uint32_t partition,
               Random& random) {
    history_ = unknown;
    if (ask_residents(address, sectors, tag_class, partition) != Outcome::miss) return;
    const Place place = place_of(address);
    changes_ += homes_[place.home]->ask_for(place.line, tag_class, sectors, random) ? 1 : 0;
    if (!copies_.empty())
      changes_ += copies_[partition]->ask_for(address >> line_shift_, tag_class, sectors, random) ? 1 : 0;
  }
  /// ask_for for each of them. False, and nothing done, where it isn't known that all are there.
  bool ask_for_known(const LoadList& loads, std::uint32_t tag_class, std::uint32_t partition);
  /// CacheArray::announce, for an SM of `partition`.
  void announce(std::uint64_t address, std::uint32_t partition) const {
    const Place place = place_of(address);
    homes_[place.home]->announce(place.line);
    if (!copies_.empty()) copies_[partition]->announce(address >> line_shift_);
  }
  /// Whether fetch() does what access() does.
  bool can_fetch() const { return model_->prefetch_lines == 0; }
  std::uint32_t sector_bit(std::uint64_t address) const { return 1U << (address >> sector_shift_ & sector_mask_); }
  std::uint32_t line_shift() const { return line_shift_; }
  /// Whether sweep() can be used.
  bool can_sweep(std::uint64_t stride_bytes) const;
  /// access at `loads` addresses, a stride apart.
  void sweep(std::uint64_t address, std::uint64_t loads, std::uint64_t stride_bytes, std::uint32_t tag_class,
             std::uint32_t partition, Random& random);
  /// Loads of a partition's SMs that will come again and again: what is there of them is answered faster from now on.
  void expect(const Residents::Loads& loads, std::uint32_t partition);
  /// CacheArray::pass for the sector at `address`.
  bool pass(std::uint64_t address, std::uint32_t tag_class, Random& random);
  /// The partition that an address belongs to.
  std::uint32_t home_of(std::uint64_t address) const { return place_of(address).home; }
  bool is_partitioned() const { return homes_.size() > 1; }
  void clear();
  /// Whether the same loads leave the same state now, whichever instance of the cache with this history they come to:
  /// it is one array, and its replacement draws nothing.
  bool is_predictable() const;
  /// Numbers the walks that came since the cache was cleared (Replays); 0: none.
  std::uint32_t history() const { return history_; }
  void follow(std::uint32_t history) { history_ = history; }
  const CacheModel& model() const { return *model_; }
  std::uint64_t lines() const { return homes_.front()->index().lines(); }
  /// State of the one array, and what a walk of that many changes made of it.
  CacheArray::State state() const { return homes_.front()->state(); }
  void restore(const CacheArray::State& state, std::uint64_t changes, std::uint32_t history);
  /// How often something was brought in, or may have been.
  std::uint64_t changes() const { return changes_; }

 private:
  struct Place {
    std::uint32_t home;  // partition
    std::uint64_t line;  // its number there
  };
  // Of each run of `count` granules every partition gets one, in an order that looks random. A partition numbers the
  // lines that it is home to without gaps, so that its sets fill evenly.
  Place place_of(std::uint64_t address) const {
    if (homes_.size() == 1) return {0, address >> line_shift_};
    const auto [granule, offset] = by_interleave_.divide(address);
    const auto [row, column] = by_count_.divide(granule);
    const auto home = static_cast<std::uint32_t>(by_count_.divide(column + (mix(row) >> 32)).remainder);
    return {home, (row * by_interleave_.value() + offset) >> line_shift_};
  }
  bool access_array(CacheArray& array, std::uint64_t line, std::uint32_t tag_class, std::uint32_t sector, bool probe,
                    Random& random) {
    if (probe) return array.contains(line, tag_class, sector);
    if (array.access(line, tag_class, sector, random)) return true;
    ++changes_;
    if (model_->prefetch_lines != 0) prefetch(array, line, tag_class, random);
    return false;
  }
  Outcome access_partitioned(std::uint64_t address, std::uint32_t tag_class, std::uint32_t partition, bool probe,
                             std::uint32_t sector, Random& random) {
    const Place place = place_of(address);
    const bool present = access_array(*homes_[place.home], place.line, tag_class, sector, probe, random);
    bool near = place.home == partition;
    if (!copies_.empty())
      near = access_array(*copies_[partition], address >> line_shift_, tag_class, sector, probe, random);
    if (!present) return Outcome::miss;
    return near ? Outcome::hit : Outcome::far_hit;
  }
  // They are known as long as nothing was brought in.
  bool has_residents() const { return residents_since_ == changes_; }
  // Lines of a partition that are known: of the walks that came again and again, the latest few.
  struct KnownRanges {
    std::array<Residents, 4> ranges;
    std::size_t latest = 0;           // of them: where a line was found, or which was made
    Residents::Loads expected_first;  // the first time that they were expected
  };
  // A cache in one piece looks the same from everywhere.
  KnownRanges& known_of(std::uint32_t partition) { return known_[homes_.size() > 1 ? partition : 0]; }
  struct Resident {
    Residents::Line* line = nullptr;
    const Residents* of = nullptr;
  };
  static Resident find_resident(KnownRanges& known, std::uint64_t line, std::uint32_t tag_class,
                                std::uint32_t sectors) {
    for (std::size_t tried = 0, at = known.latest; tried < known.ranges.size(); ++tried) {
      Residents& r = known.ranges[at];
      if (Residents::Line* found = r.find(line, tag_class, sectors)) {
        known.latest = at;
        return {found, &r};
      }
      at = at + 1 == known.ranges.size() ? 0 : at + 1;
    }
    return {};
  }
  // What is there, noted: the arrays hear of it later. A miss where it isn't, or where nothing is known; the arrays are
  // asked then, and have heard of what came before.
  Outcome ask_residents(std::uint64_t address, std::uint32_t sectors, std::uint32_t tag_class,
                        std::uint32_t partition) {
    if (!has_residents()) return Outcome::miss;
    const std::uint64_t line = address >> line_shift_;
    if (const Resident found = find_resident(known_of(partition), line, tag_class, sectors); found.line != nullptr) {
      note(found, partition, ++clock_);
      return found.line->is_near ? Outcome::hit : Outcome::far_hit;
    }
    return ask_others(line, sectors, tag_class, partition);
  }
  bool is_there(const Place& place, std::uint64_t line, std::uint32_t tag_class, std::uint32_t sectors,
                std::uint32_t partition) const {
    return homes_[place.home]->contains(place.line, tag_class, sectors) &&
           (copies_.empty() || copies_[partition]->contains(line, tag_class, sectors));
  }
  bool is_near(const Place& place, std::uint32_t partition) const {
    return homes_.size() == 1 || !copies_.empty() || place.home == partition;
  }
  Outcome ask_others(std::uint64_t line, std::uint32_t sectors, std::uint32_t tag_class, std::uint32_t partition);
  void note(const Resident& resident, std::uint32_t partition, std::uint64_t time) {
    if (resident.line->asked_at == 0) asked_.push_back({resident.line, resident.of, partition});
    resident.line->asked_at = std::max(resident.line->asked_at, time);
  }
  void tell_arrays();
  bool finds_word(std::uint64_t address, std::uint32_t tag_class, Random& random);
  void keep_word(std::uint64_t address, std::uint32_t tag_class, Random& random);
  bool know(Residents& residents, const Residents::Loads& loads, std::uint32_t partition);
  std::uint64_t first_line_from(std::uint64_t address, std::uint32_t home) const;
  void sweep_line(std::uint64_t address, std::uint64_t loads, std::uint64_t stride_bytes, std::uint32_t tag_class,
                  std::uint32_t partition, Random& random);
  void sweep_lines(std::uint64_t first, std::uint64_t end, std::uint32_t partition, Sweep sweep);
  void prefetch(CacheArray& array, std::uint64_t line, std::uint32_t tag_class, Random& random);
  std::int64_t distance_ahead(std::uint64_t line);

  const CacheModel* model_;
  std::uint32_t line_shift_, sector_shift_, sector_mask_, all_sectors_;
  Divisor by_interleave_, by_count_;
  std::vector<std::unique_ptr<CacheArray>> homes_;
  std::vector<std::unique_ptr<CacheArray>> copies_;  // PartitionMode::near_copy: what each partition's SMs read last
  std::uint64_t changes_ = 0;
  std::uint64_t cleared_at_ = 0;  // changes_ when the arrays were last empty
  static constexpr std::uint32_t unknown = ~std::uint32_t{0};
  std::uint32_t history_ = 0;
  std::vector<KnownRanges> known_;                     // by partition
  std::uint64_t residents_since_ = ~std::uint64_t{0};  // changes_ when they were found
  struct Asked {
    Residents::Line* line;
    const Residents* of;
    std::uint32_t partition;
  };
  std::vector<Asked> asked_;  // what the arrays haven't heard of
  // A hit that they haven't heard of.
  struct Hit {
    std::uint64_t time, line;
    std::uint32_t tag_class, sectors, partition;
  };
  std::vector<Hit> other_hits_;  // of lines that aren't among the residents
  // Loads that are all among the residents, and when the first of them was last made; 0: the arrays have heard of it.
  struct KnownLoads {
    LoadList loads;
    std::uint32_t tag_class, partition;
    std::uint64_t asked_at;
  };
  static constexpr std::size_t most_known_loads = 16;  // as many as there are replays to ask for them
  std::vector<KnownLoads> known_loads_;
  std::uint64_t clock_ = 0;
  StoredWords words_;  // of sectors that aren't there as a whole
  bool can_load_words_ = false;
  // Of CacheModel::prefetch_after: the line that missed last, how far it was from the one before, and how often in a
  // row misses were as far apart.
  std::uint64_t missed_line_ = 0;
  std::int64_t missed_step_ = 0;
  std::uint32_t equal_steps_ = 0;
};

}  // namespace gputopo::sim
