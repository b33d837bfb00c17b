// Lines that no cache has, and programs that load them one after another: what memory itself does.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "evidence/inference/histogram.hpp"
#include "evidence/looks/findings.hpp"
#include "evidence/looks/session.hpp"

namespace gputopo::evidence {

/// A stretch of memory behind what flushes walk. Every program that runs on it finds it in no cache.
class ColdMemory {
 public:
  /// `flush_bytes` of other loads empty what lies before memory; `room_bytes` lie behind them. `session` must outlive
  /// it.
  ColdMemory(Session& session, std::uint64_t flush_bytes, std::uint64_t room_bytes);

  /// Whether the GPU has the room. Where it hasn't nothing may be run.
  bool fits() const;
  /// Where the room begins, in the flush slot: at a border of 64 KiB.
  std::uint64_t begin() const { return (flush_bytes_ / gap_bytes + 2) * gap_bytes; }
  /// An empty program by SM 0 alone, on a quiet chip.
  program::Program program(std::string label) const;
  /// Runs the programs, in their order, after a flush. Nothing where a neighbour leaves no time for it; errors are the
  /// session's.
  Expected<std::optional<std::vector<program::ProgramTrace>>> run(const program::Batch& batch);

  /// A load of the room's byte `place_bytes`.
  program::Walk load(std::uint64_t place_bytes) const;
  /// Appends two loads of a line that the L2 has, both recorded.
  void look_twice(program::Program& p, std::uint64_t place_bytes) const;
  /// What the first and the second look of each took.
  using Pairs = std::vector<std::pair<double, double>>;
  static constexpr double most_longer = 1.02;  ///< a TLB's miss takes more
  /// Of recorded loads, in their order.
  static Pairs pairs_of(std::span<const program::PhaseTrace> phases);
  /// Of two looks at each line: how often the first took longer, and how often the second.
  struct Longer {
    double first = 0, second = 0;
  };
  static Longer longer_of(const Pairs& looks);
  /// Whether the first of both took longer no more often than the second, but for one look in twenty: else translations were missing, or what was
  /// looked at. No answer where there are few. Where no cache keeps the lines an open row of DRAM looks so, too.
  static std::optional<bool> are_alike(const Pairs& looks);

  /// Latency below which a load was served by the cache that holds `hits`, for loads that took `misses` otherwise: a
  /// third of the way from one to the other, since what an open row or a nearer channel gains makes misses faster, and
  /// strangers only add. Nothing where the two can't be told apart.
  static std::optional<double> threshold_cycles(const Histogram& hits, const Histogram& misses);

 private:
  static constexpr std::uint64_t gap_bytes = 64 << 10;  // what is fetched ahead of a flush lies there
  Session* session_;
  std::uint64_t flush_bytes_, room_bytes_;
};

}  // namespace gputopo::evidence
