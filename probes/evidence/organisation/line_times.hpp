// What hits of each single line take: lines far apart lie in slices of the L2 that are nearer or farther, by more than
// a TLB's miss costs, so that a load can only be held against others of its own line.
#pragma once

#include <cstdint>
#include <map>

#include "evidence/organisation/circles.hpp"

namespace gputopo::evidence {

class LineTimes {
 public:
  /// Lines of `path`'s slot, `stride_bytes` apart, as SM `sm` sees them. `session` must outlive it.
  LineTimes(Session& session, const CachePath& path, std::uint64_t stride_bytes, std::uint32_t sm)
      : session_(&session), path_(path), stride_bytes_(stride_bytes), sm_(sm) {}

  /// Times the circle's lines that aren't known yet: each is loaded again and again with nothing between. Errors are
  /// the session's.
  Expected<void> learn(const Circle& circle);
  /// Cycles as timed, the mean of the middle half of its looks. The line must have been learned.
  double of(std::uint64_t line) const { return cycles_.at(line); }
  std::uint32_t sm() const { return sm_; }
  std::uint64_t looks() const { return looks_; }
  /// Of all looks so far, the share that took longer than their line's own time by `cycles` or more.
  double share_above(double cycles) const;
  /// The same of those that took less than that.
  double share_below(double cycles) const;

 private:
  Session* session_;
  CachePath path_;
  std::uint64_t stride_bytes_;
  std::uint32_t sm_;
  std::map<std::uint64_t, double> cycles_;
  std::map<double, std::uint64_t> excess_;  // of looks over their line's time
  std::uint64_t looks_ = 0;
};

}  // namespace gputopo::evidence
