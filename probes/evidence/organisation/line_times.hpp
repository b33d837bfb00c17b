// What hits of each single line take: lines far apart lie in slices of the L2 that are nearer or farther, by more than
// a TLB's miss costs, so that a load can only be held against others of its own line. And loads leave an SM at the
// ticks of another clock: what one waits for goes by what came before it, alike each time that a walk goes by, and by
// half of a TLB's miss. So what is walked again is walked over other lines of the same entries, its variants, which
// wait differently.
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "evidence/organisation/circles.hpp"

namespace gputopo::evidence {

class LineTimes {
 public:
  static constexpr std::uint64_t variants = 8;

  /// Lines of `path`'s slot, `stride_bytes` apart, as SM `sm` sees them; variants lie `line_bytes` apart. `session`
  /// must outlive it.
  LineTimes(Session& session, const CachePath& path, std::uint64_t stride_bytes, std::uint64_t line_bytes,
            std::uint32_t sm)
      : session_(&session), path_(path), stride_bytes_(stride_bytes), line_bytes_(line_bytes), sm_(sm) {}

  /// Times those of the circle's lines that aren't known yet, in all their variants, which are loaded again and again,
  /// each after several others of its entry, with nothing else between. Errors are the session's.
  Expected<void> learn(const Circle& circle);
  /// Cycles as timed, the mean over the others that it came after of the middle half of its looks. The line must have
  /// been learned.
  double of(std::uint64_t line, std::uint64_t variant) const { return cycles_.at(line)[variant]; }
  std::uint32_t sm() const { return sm_; }
  std::uint64_t first_byte_of(std::uint64_t variant) const { return variant * line_bytes_; }

 private:
  program::Program program_of(std::uint64_t line) const;
  void keep(std::uint64_t line, const program::ProgramTrace& trace);

  Session* session_;
  CachePath path_;
  std::uint64_t stride_bytes_, line_bytes_;
  std::uint32_t sm_;
  std::map<std::uint64_t, std::array<double, variants>> cycles_;
};

}  // namespace gputopo::evidence
