// Lines that a cache is known to have: asking for one of them again changes nothing but the order of use.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

namespace gputopo::sim {

/// Addresses in the order of their loads, kept by whoever may be asked for them again.
using LoadList = std::shared_ptr<const std::vector<std::uint64_t>>;

/// Lines, as far from each other, that one side's SMs find in a cache, and when each was last asked for since the
/// arrays heard of it.
///
/// Under every replacement what hits leave behind depends only on the order in which the lines were last asked for. So
/// a hit costs a note here, and the arrays hear of all of them when somebody else comes.
class Residents {
 public:
  static constexpr std::uint64_t most_lines = 1 << 16;

  struct Line {
    std::uint64_t asked_at = 0;  ///< by a clock that all Residents of a cache share; 0: the arrays have heard of it
    std::uint32_t sectors = 0;   ///< known to be there
    bool is_near = true;
  };
  /// Loads of `count` addresses, a stride apart.
  struct Loads {
    std::uint64_t address = 0, count = 0, stride_bytes = 0;
    std::uint32_t tag_class = 0;
    bool cover(const Loads& other) const {
      return address == other.address && count >= other.count && stride_bytes == other.stride_bytes &&
             tag_class == other.tag_class;
    }
  };

  const Loads& loads() const { return loads_; }
  /// Of `count` lines from the first one on, each 2^`step_shift` behind the one before.
  void start(const Loads& loads, std::uint64_t first, std::uint64_t count, std::uint32_t step_shift) {
    loads_ = loads;
    first_ = first;
    step_shift_ = step_shift;
    lines_.assign(count, {});
  }
  void drop() {
    loads_ = {};
    lines_.clear();
  }
  /// The line, or null where it or the sectors aren't known.
  Line* find(std::uint64_t line, std::uint32_t tag_class, std::uint32_t sectors) {
    const std::uint64_t at = std::rotr(line - first_, static_cast<int>(step_shift_));  // beyond all of them in between
    if (at >= lines_.size() || tag_class != loads_.tag_class || (lines_[at].sectors & sectors) != sectors)
      return nullptr;
    return &lines_[at];
  }
  std::uint64_t number_of(const Line& line) const {
    return first_ + (static_cast<std::uint64_t>(&line - lines_.data()) << step_shift_);
  }
  Line& at(std::uint64_t line) { return lines_[(line - first_) >> step_shift_]; }

 private:
  Loads loads_;
  std::uint64_t first_ = 0;
  std::uint32_t step_shift_ = 0;
  std::vector<Line> lines_;
};

}  // namespace gputopo::sim
