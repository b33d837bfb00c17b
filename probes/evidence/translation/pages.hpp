// One line asked again and again how long it takes after others were touched, far apart: neither its slice of the L2
// nor its distance has a part in that, and few lines leave the L2 as it is (docs/measuring.md, 'Translation').
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "evidence/inference/sameness.hpp"
#include "evidence/looks/session.hpp"

namespace gputopo::evidence {

inline constexpr CachePath pages_path{"tlb", program::Path::global_l2_only, slot_pages};

/// Touches one line in each of `count` places, which push translations out of TLBs. Count 0: nothing. By one lane: with
/// more of them in a launch the threads of whole blocks stay, and loads take longer in all of its programs.
struct Others {
  std::uint64_t first_byte = 0, stride_bytes = 0, count = 0;
  std::uint32_t lanes = 1;
  program::Path path = program::Path::global_l2_only;
};

/// A probe: phases of agents in turn, the last of which times one line.
class PageProbe {
 public:
  /// Agents by SM; the first of them looks.
  PageProbe(const device::DeviceInfo& info, std::vector<std::uint32_t> sms);
  PageProbe& touch(std::uint32_t agent, std::uint64_t at);
  PageProbe& walk(std::uint32_t agent, const Others& others);
  /// Ends the program: agent 0 loads the line at `before`, which warms the code, and then the one at `at`.
  program::Program look(std::uint64_t at, std::uint64_t before);

 private:
  program::Program program_;
};

using PageProgram = std::function<program::Program(std::uint64_t variant)>;

/// The memory that is touched, and others in it that push translations out.
class Pages {
 public:
  /// `line_bytes` of the L2 and as many `lines` as certainly stay in it.
  Pages(Session& session, std::uint64_t line_bytes, std::uint64_t lines);

  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t line_bytes() const { return line_bytes_; }
  /// Where others begin. Lines that are timed lie below, in the lower half of that.
  std::uint64_t margin() const { return bytes_ / 16; }
  /// Where a look begins, in the upper quarter of the margin. Another place for each `variant`: one that shares a small
  /// set of a TLB with the line that is timed would push its translation out each time.
  std::uint64_t elsewhere(std::uint64_t variant) const;
  /// The most places that may be touched.
  std::uint64_t most() const { return most_; }
  /// Makes them as few as SM `sm` walks between two interruptions, where another process takes turns on the GPU.
  Expected<void> fit_between_interruptions(std::uint32_t sm);
  /// `count` places spread over all memory behind the margin, by a stride that goes to all sets of an L2 and of a TLB.
  /// Each `variant` has others: those that a TLB still knows from the time before push nothing out.
  Others spread(std::uint64_t count, std::uint64_t variant) const;
  /// The same by all lanes of a warp, a tenth of one lane's time: for walks of which no program that it is held against
  /// is without.
  Others spread_quickly(std::uint64_t count, std::uint64_t variant) const;
  /// Runs each program `looks` times, in another variant each time: what its last load took, ascending.
  Expected<std::vector<std::vector<double>>> run(const std::vector<PageProgram>& programs, std::size_t looks);
  Session& session() { return *session_; }
  std::uint64_t samples() const { return samples_; }

 private:
  Session* session_;
  std::uint64_t bytes_, line_bytes_, most_;
  std::uint64_t samples_ = 0;  ///< each with a variant of its own
};

/// A line of the same page as `at`, but neither the same line nor one that comes with it.
std::uint64_t neighbour_of(std::uint64_t at);

/// A look of SM `sm` at the line, with its translation just used.
PageProgram at_hand(Pages& pages, std::uint32_t sm, std::uint64_t line);

/// What looks took, ascending, of which strangers and waiting made some longer: the mean of those around the lower
/// quartile. Single looks go by the phase of two clocks, which may differ by half of what a TLB's miss costs.
double near_time(const std::vector<double>& ascending);

/// The middle between the shortest and the longest of looks, strangers' left out: as far from those that are shorter by
/// some cycles as from those that are longer by as many.
double middle_time(const std::vector<double>& ascending);

/// What the looks of one level say together.
struct ModeTime {
  double cycles = 0;      ///< their mean
  std::size_t looks = 0;  ///< how many they are
};

/// Of looks of several levels, ascending, those of the level that a quartile of them lies in, the lower one if none is
/// named: all within `reach_cycles` of it.
ModeTime mode_time(const std::vector<double>& ascending, double reach_cycles, double quartile = 0.25);

/// How far apart the shortest and the longest are.
double spread_time(const std::vector<double>& ascending);

/// Looks that lost a translation from a level, which takes them `cycles` more than the `nearer_cycles` that it takes
/// from nearer ones, each more than looks with it at hand, `hot`. One that took a part of that counts as that part,
/// against what hot ones come to: of single looks hardly any tells, where they differ by as much, and they count as
/// fewer then. No loads where `hot` doesn't tell at all.
Tally lost_translations(const std::vector<double>& looks, const std::vector<double>& hot, double nearer_cycles,
                        double cycles);

}  // namespace gputopo::evidence
