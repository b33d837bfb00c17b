// Words that stores left in a cache without the rest of their sector.
#pragma once

#include <cstdint>
#include <set>
#include <unordered_map>

namespace gputopo::sim {

/// By line. Whether the line is still there its array says, by a bit among its sectors: what is found here of a line
/// without that bit is of an earlier stay.
class StoredWords {
 public:
  static constexpr std::uint64_t word_bytes = 4;

  bool empty() const { return lines_.empty(); }
  std::size_t lines() const { return lines_.size(); }
  void clear() { lines_.clear(); }
  void forget(std::uint64_t key) { lines_.erase(key); }
  void add(std::uint64_t key, std::uint64_t address) { lines_[key].insert(address / word_bytes); }
  bool holds(std::uint64_t key, std::uint64_t address) const {
    const auto line = lines_.find(key);
    return line != lines_.end() && line->second.contains(address / word_bytes);
  }
  /// Whether every word of [begin, begin + bytes) is there.
  bool holds_all(std::uint64_t key, std::uint64_t begin, std::uint64_t bytes) const {
    const auto line = lines_.find(key);
    if (line == lines_.end()) return false;
    std::uint64_t next = begin / word_bytes;
    for (auto word = line->second.lower_bound(next); word != line->second.end() && *word == next; ++word) ++next;
    return next * word_bytes >= begin + bytes;
  }
  /// Forgets the lines for which `is_gone(key)`.
  template <class IsGone>
  void forget_if(const IsGone& is_gone) {
    std::erase_if(lines_, [&](const auto& line) { return is_gone(line.first); });
  }

 private:
  std::unordered_map<std::uint64_t, std::set<std::uint64_t>> lines_;  // by key; numbers of words
};

}  // namespace gputopo::sim
