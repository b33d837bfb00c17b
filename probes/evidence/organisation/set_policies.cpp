#include "evidence/organisation/set_policies.hpp"

#include <algorithm>
#include <bit>

namespace gputopo::evidence {

PolicySet::PolicySet(Policy policy, std::uint32_t ways)
    : policy_(policy), right_is_older_(2 * std::bit_ceil(ways), false), ways_(ways), leaves_(std::bit_ceil(ways)) {}

bool PolicySet::load(std::uint64_t line) {
  ++now_;
  const auto it = std::find(lines_.begin(), lines_.end(), line);
  if (it != lines_.end()) {
    use(static_cast<std::uint32_t>(it - lines_.begin()), false);
    return false;
  }
  std::uint32_t way = static_cast<std::uint32_t>(lines_.size());
  if (way < ways_) {
    lines_.push_back(line);
    ages_.push_back(now_);
  } else {
    way = victim();
    lines_[way] = line;
  }
  use(way, true);
  return true;
}

std::uint32_t PolicySet::victim() const {
  if (policy_ != Policy::tree)
    return static_cast<std::uint32_t>(std::min_element(ages_.begin(), ages_.end()) - ages_.begin());
  std::uint32_t node = 1, first = 0;
  for (std::uint32_t span = leaves_ / 2; span > 0; span /= 2) {
    const bool right = right_is_older_[node] && first + span < ways_;  // a half without ways is never taken
    node = 2 * node + (right ? 1 : 0);
    first += right ? span : 0;
  }
  return first;
}

void PolicySet::use(std::uint32_t way, bool is_new) {
  if (policy_ == Policy::lru || is_new) ages_[way] = now_;
  for (std::uint32_t node = way + leaves_; node > 1; node /= 2) right_is_older_[node / 2] = node % 2 == 0;
}

}  // namespace gputopo::evidence
