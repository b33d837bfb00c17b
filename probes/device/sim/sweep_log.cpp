#include "device/sim/sweep_log.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "device/sim/cache_array.hpp"

namespace gputopo::sim {

void SweepLog::list_rows(Entry& entry) const {
  const std::uint64_t last_row = (entry.sweep.end - 1) / index_->row_lines();
  for (std::uint64_t row = entry.first_row + entry.turns.size(); row <= last_row; ++row)
    entry.turns.push_back(index_->turn(row));
}

// A walk made in parts, by one SM after another, is one sweep.
bool SweepLog::extend(const Sweep& sweep) {
  if (sweeps_.empty()) return false;
  Sweep& last = sweeps_.back().sweep;
  const std::uint64_t next = last.first + (last.end - last.first + last.step - 1) / last.step * last.step;
  const bool goes_on = sweep.first == next && sweep.step == last.step && sweep.tag_class == last.tag_class &&
                       sweep.sectors == last.sectors;
  if (!goes_on) return false;
  last.end = sweep.end;
  list_rows(sweeps_.back());
  return true;
}

// Lines enough for every set leave nothing of what was there before.
void SweepLog::drop_what_is_overwritten() {
  const auto& [sweep, begin, first_row, turns] = sweeps_.back();
  const std::uint64_t rows = sweep.end / index_->row_lines() -
                             std::min(sweep.end, sweep.first + index_->row_lines() - 1) / index_->row_lines();
  const std::uint64_t of_each_set = sweep.step == 1 ? rows * index_->row_lines() / index_->sets() : 0;
  const std::uint64_t enough = (sweep.whole_lines ? 1U : 2U) * std::uint64_t{index_->most_ways()};
  if (of_each_set < enough || last_request_ > begin) return;
  sweeps_.erase(sweeps_.begin(), sweeps_.end() - 1);
  undisturbed_ = std::min<std::size_t>(undisturbed_, 1);
}

// Under LRU the third of three equal rounds leaves what it finds: what a line's sectors and its place among the others
// depend on is the same in it as in the second.
bool SweepLog::drop_third_round(std::uint32_t length) {
  if (undisturbed_ < 3 * length) return false;
  const auto same = [](const Entry& a, const Entry& b) { return a.sweep == b.sweep; };
  const auto round = sweeps_.end() - length;
  if (!std::equal(round, sweeps_.end(), round - length, same) ||
      !std::equal(round, sweeps_.end(), round - 2 * length, same))
    return false;
  end_ = round->begin;
  sweeps_.erase(round, sweeps_.end());
  undisturbed_ -= length;
  return true;
}

bool SweepLog::add(const Sweep& sweep) {
  if (sweep.first >= sweep.end) return false;
  if (!extend(sweep)) {
    sweeps_.push_back({sweep, end_, sweep.first / index_->row_lines(), {}});
    list_rows(sweeps_.back());
    ++undisturbed_;
  }
  end_ = sweeps_.back().begin + (sweeps_.back().sweep.end - sweeps_.back().sweep.first);
  drop_what_is_overwritten();
  if (drop_third_round(1)) return false;
  drop_third_round(2);
  return true;
}

template <class Visit>
void SweepLog::look_back(std::uint32_t set, const Visit& visit) const {
  const std::uint64_t seen = seen_[set];
  std::uint32_t request = latest_[set];
  const auto visit_requests_after = [&](std::uint64_t position) {
    for (; request != none && requests_[request].position > position; request = requests_[request].before)
      if (!visit(requests_[request].access, none)) return false;
    return true;
  };
  for (auto e = static_cast<std::uint32_t>(sweeps_.size()); e-- > 0;) {
    const Entry& entry = sweeps_[e];
    const Sweep& s = entry.sweep;
    if (entry.begin + (s.end - s.first) <= seen) break;
    for (std::size_t row = entry.turns.size(); row-- > 0;) {
      const std::uint64_t first = index_->first_line(entry.first_row + row, entry.turns[row], set);
      for (std::uint64_t line = first + index_->together(); line-- > first;) {
        if (line < s.first || line >= s.end || ((line - s.first) & (s.step - 1)) != 0) continue;
        const std::uint64_t position = entry.begin + (line - s.first);
        if (!visit_requests_after(position)) return;
        if (position < seen) return;
        if (!visit(Access{CacheArray::key_of(line, s.tag_class), s.sectors}, e)) return;
      }
    }
  }
  visit_requests_after(0);
}

bool SweepLog::remember(std::uint32_t set, const Access& access) {
  constexpr std::uint32_t most_of_a_set = 2;  // then it is worth bringing the set up to date
  const std::uint32_t count = latest_[set] == none ? 1 : requests_[latest_[set]].count + 1;
  if (count > most_of_a_set || requests_.size() > most_requests) return false;
  const Request request{access, end_, latest_[set], count};
  if (free_ != none) {
    latest_[set] = std::exchange(free_, requests_[free_].before);
    requests_[latest_[set]] = request;
  } else {
    latest_[set] = static_cast<std::uint32_t>(requests_.size());
    requests_.push_back(request);
  }
  last_request_ = end_;
  return true;
}

namespace {

// Looks for one line from the newest request to its set to older ones: under LRU it was there each time when fewer
// other lines than ways had come since.
class Search {
 public:
  Search(const Access& wanted, std::uint32_t ways) : wanted_(wanted), ways_(ways), missing_(wanted.sectors) {}

  /// Whether anything older still matters.
  bool goes_on(const Access& older) {
    if (older.key == wanted_.key) {
      missing_ &= ~older.sectors;
      other_count_ = 0;
    } else if (std::find(others_.begin(), others_.begin() + other_count_, older.key) ==
               others_.begin() + other_count_) {
      others_[other_count_++] = older.key;
    }
    return missing_ != 0 && other_count_ < ways_;
  }
  std::uint32_t missing() const { return missing_; }

 private:
  Access wanted_;
  std::uint32_t ways_;
  std::uint32_t missing_;
  std::array<std::uint64_t, PackedSets::way_limit> others_;
  std::uint32_t other_count_ = 0;
};

}  // namespace

std::optional<std::uint32_t> SweepLog::request(std::uint32_t set, const PackedSets& sets, const Access& access) {
  if (!remember(set, access)) return std::nullopt;
  Search search(access, index_->ways(set));
  bool is_open = true;
  bool is_itself = true;
  look_back(set, [&](const Access& a, std::uint32_t) {
    if (std::exchange(is_itself, false)) return true;
    is_open = search.goes_on(a);
    return is_open;
  });
  for (std::uint32_t age = 0; is_open && age < sets.filled(set); ++age) is_open = search.goes_on(sets.by_age(set, age));
  return search.missing();
}

// As many lines in a row as the set has ways leave nothing else behind, but sectors of their own that they had before:
// not those that come when as many others have been there.
SweepLog::Waiting SweepLog::take(std::uint32_t set, std::vector<Access>& accesses) {
  const std::uint32_t ways = index_->ways(set);
  std::uint32_t in_a_row = 0;
  std::uint32_t of = none;
  bool is_all = false;
  look_back(set, [&](const Access& a, std::uint32_t entry) {
    accesses.push_back(a);
    in_a_row = entry != none && entry == of ? in_a_row + 1 : 1;
    of = entry;
    is_all = entry != none && in_a_row >= (sweeps_[entry].sweep.whole_lines ? ways : 2 * ways);
    return !is_all;
  });
  // Their places are for the next ones: memory that was used a moment ago costs less than more of it.
  for (std::uint32_t request = latest_[set]; request != none;) {
    const std::uint32_t before = requests_[request].before;
    requests_[request].before = std::exchange(free_, request);
    request = before;
  }
  latest_[set] = none;
  seen_[set] = end_;
  const std::span<const Access> all(accesses);
  const std::size_t newer = accesses.size() - (is_all ? in_a_row : 0);
  return {all.first(newer), all.subspan(newer, is_all ? ways : 0)};
}

void SweepLog::forget() {
  free_ = none;
  sweeps_.clear();
  requests_.clear();
  std::fill(latest_.begin(), latest_.end(), none);
  undisturbed_ = 0;
}

}  // namespace gputopo::sim
