// Walks over a cache array that nobody has looked at yet: each set hears of them when it is asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "device/sim/packed_sets.hpp"
#include "device/sim/set_index.hpp"

namespace gputopo::sim {

/// Lines `first`, `first` + `step`, ... below `end`, each asked for the same sectors, in order. The step is a power
/// of 2.
struct Sweep {
  std::uint64_t first = 0, end = 0, step = 1;
  std::uint32_t tag_class = 0;
  std::uint32_t sectors = 0;
  bool whole_lines = false;  ///< the sectors are all that a line has
  friend bool operator==(const Sweep&, const Sweep&) = default;
};

/// What happened to the sets of an LRU array since each was last brought up to date.
///
/// A walk over megabytes costs one entry here. Of the sets, most are never looked at again before later walks have
/// replaced all that they held; and under LRU a request hits exactly where fewer other lines than the set has ways came
/// since the line was last asked for (Mattson et al., "Evaluation techniques for storage hierarchies", 1970), which the
/// last few entries tell.
class SweepLog {
 public:
  /// `index` can list its sets' lines and must outlive the log.
  explicit SweepLog(const SetIndex& index) : index_(&index), latest_(index.sets(), none), seen_(index.sets(), 0) {}
  /// What it takes for each set, bytes, before anything waits.
  static constexpr std::uint64_t bytes_of_set = sizeof(std::uint32_t) + sizeof(std::uint64_t);

  bool empty() const { return sweeps_.empty(); }
  /// Whether so much is waiting that all sets should be brought up to date, and forget() called.
  bool is_long() const { return sweeps_.size() > most_sweeps || requests_.size() > most_requests; }
  /// Whether a set has heard of everything.
  bool is_up_to_date(std::uint32_t set) const { return seen_[set] == end_; }

  /// False where the sweep has just been made twice: it leaves what it finds.
  bool add(const Sweep& sweep);
  /// Something else than a sweep came to some set.
  void disturb() { undisturbed_ = 0; }

  /// The sectors that a request to a set misses; the request waits as well. Nothing where the set has enough of them.
  std::optional<std::uint32_t> request(std::uint32_t set, const PackedSets& sets, const Access& access);
  /// Makes a request wait whose outcome nobody asks for. False where the set has enough of them.
  bool remember(std::uint32_t set, const Access& access);
  /// Everything that is waiting for a set and decides what it holds, newest first.
  struct Waiting {
    std::span<const Access> accesses;
    std::span<const Access> full;  ///< what it held before these came, where one walk left nothing else there
  };
  /// Gives that, kept in `accesses`. The set is up to date then.
  Waiting take(std::uint32_t set, std::vector<Access>& accesses);
  /// Forgets everything.
  void forget();

 private:
  static constexpr std::uint32_t none = 0xffffffffU;
  static constexpr std::size_t most_sweeps = 4096;
  static constexpr std::size_t most_requests = 1 << 20;

  struct Entry {
    Sweep sweep;
    std::uint64_t begin;               // end() when it came
    std::uint64_t first_row;           // of the index
    std::vector<std::uint32_t> turns;  // by row from there on
  };
  struct Request {
    Access access;
    std::uint64_t position;  // end() when it came
    std::uint32_t before;    // the set's request before this one; the next free place
    std::uint32_t count;     // of the set's requests up to this one
  };

  // Calls visit(access, entry) for what is waiting, newest first, until it gives false; entry is `none` for requests.
  template <class Visit>
  void look_back(std::uint32_t set, const Visit& visit) const;
  void list_rows(Entry& entry) const;
  bool extend(const Sweep& sweep);
  void drop_what_is_overwritten();
  bool drop_third_round(std::uint32_t length);

  const SetIndex* index_;
  std::vector<Entry> sweeps_;
  std::vector<Request> requests_;
  std::vector<std::uint32_t> latest_;  // by set: its last request
  std::uint32_t free_ = none;          // a place in requests_ that nobody needs any more
  std::uint64_t last_request_ = 0;     // its position
  std::uint64_t end_ = 0;              // lines swept so far
  // By set: end_ when it was last up to date. Not beside the set's lines: it is asked for far more often than these.
  std::vector<std::uint64_t> seen_;
  std::size_t undisturbed_ = 0;  // that many of the newest sweeps came with nothing else in between
};

}  // namespace gputopo::sim
