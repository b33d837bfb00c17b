// Lines that no cache has, and programs that load them one after another: what memory itself does.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/findings.hpp"
#include "evidence/histogram.hpp"
#include "evidence/session.hpp"

namespace gputopo::evidence {

/// Lines that an SM had in the L2 and finds there no more.
struct LostByL2 {
  /// What they take, as timed: memory's loads, those of a cache behind the L2, of another side of it. None where there
  /// is no L2.
  std::vector<double> cycles;
  bool may_be_far = false;  ///< of sides that keep copies one may be lost, and how long that takes isn't known
};

/// A stretch of memory behind what flushes walk. Every program that runs on it finds it in no cache.
class ColdMemory {
 public:
  /// `flush_bytes` of other loads empty what lies before memory; `room_bytes` lie behind them. `session` must outlive
  /// it.
  ColdMemory(Session& session, std::uint64_t flush_bytes, std::uint64_t room_bytes);

  /// Whether the GPU has the room. Where it hasn't nothing may be run.
  bool fits() const;
  /// Where the room begins, in the flush slot.
  std::uint64_t begin() const { return flush_bytes_ + gap_bytes; }
  /// An empty program by SM 0 alone, on a quiet chip.
  program::Program program(std::string label) const;
  /// Runs the programs, in their order, after a flush. Nothing where a neighbour leaves no time for it; errors are the
  /// session's.
  Expected<std::optional<std::vector<program::ProgramTrace>>> run(const program::Batch& batch);

  /// A load of the room's byte `place_bytes`.
  program::Walk load(std::uint64_t place_bytes) const;
  /// Appends two loads of a line that the L2 has, both recorded.
  void look_twice(program::Program& p, std::uint64_t place_bytes) const;
  /// Whether the first of both took longer no more often than the second: else translations were missing. What took as
  /// long as lines do that were lost tells nothing. No answer where few are left.
  static std::optional<bool> are_alike(std::span<const program::PhaseTrace> looks, const LostByL2& lost);

  /// Latency below which a load was served by the cache that holds `hits`, for loads that took `misses` otherwise: a
  /// third of the way from one to the other, since what an open row or a nearer channel gains makes misses faster, and
  /// strangers only add. Nothing where the two can't be told apart.
  static std::optional<double> threshold_cycles(const Histogram& hits, const Histogram& misses);

 private:
  static constexpr std::uint64_t gap_bytes = 64 << 10;  // what is fetched ahead of a flush lies there
  Session* session_;
  std::uint64_t flush_bytes_, room_bytes_;
};

/// As far as is known so far.
LostByL2 lost_by_l2(const Findings& findings);

/// Whether a line's translation is there after a load of another line of its 64 KiB, whatever came before, as many
/// pages as a flush is of among it: pages are as large, or TLBs keep as many of them. By lines that the L2 has, whose
/// own loads are short. Asked once a discovery. Nothing where it is; else why what cold lines take needn't be memory's,
/// also where it can't be told (memory's latency isn't known, there is no room, a neighbour leaves no time, too few
/// lines were kept). Errors are the session's.
Expected<std::optional<std::string_view>> why_untranslated(Session& session, Findings& findings);
/// The same of what `ColdMemory::are_alike` said.
std::optional<std::string_view> why_untranslated(std::optional<bool> are_alike);

}  // namespace gputopo::evidence
