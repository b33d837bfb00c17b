// Size sweeps as tools on real GPUs record them: not every load of a lap, averages over laps, banks, coarse clocks,
// pages dealt anew for every row.
#pragma once

#include <cstdint>
#include <string>

#include "change_point/trace.hpp"
#include "device/sim/model.hpp"

namespace gputopo::change_point::testing {

struct SweepModel {
  std::string kind;  ///< what it imitates
  std::uint64_t seed = 0;

  sim::Organisation organisation;
  std::uint64_t capacity_lines = 256;
  std::uint64_t line_bytes = 128;
  std::uint64_t page_lines = 0;        ///< pages of that many lines lie anywhere, anew for every row; 0: contiguous
  std::uint64_t next_level_lines = 0;  ///< capacity of a level behind this one; 0: holds everything
  std::uint64_t fixed_miss_from = 0;   ///< bytes: from this footprint on one line always misses; 0: none
  std::uint64_t fixed_misses = 1;      ///< how many

  std::uint64_t first_bytes = 0;
  std::uint64_t step_bytes = 256;
  std::uint64_t rows = 70;
  std::uint64_t stride_bytes = 0;   ///< of the loads; 0: a line
  std::uint64_t kept_loads = 0;     ///< only the first loads of a lap are recorded; 0: all
  std::uint64_t averaged_laps = 1;  ///< a value is the mean over that many laps
  bool one_average_a_row = false;   ///< a row holds the mean of its loads alone

  double hit_cycles = 40;
  double bank_cycles = 0;       ///< lines differ by up to this much, by bank
  double miss_cycles = 250;     ///< of the next level
  double miss_spread = 0;       ///< misses scatter evenly by this much
  double next_miss_cycles = 0;  ///< behind the next level
  double jitter_cycles = 0;
  double outlier_probability = 0;
  double outlier_cycles = 500;
  double drift_cycles = 0;  ///< over the whole sweep
  double clock_cycles = 1;  ///< the clock counts in these

  std::string describe() const;
};

/// What is true of a sweep: the row with the largest footprint that fits, and the last row before a recorded load
/// misses (later than that where only the first loads are recorded). An answer between the two is right.
struct SweepTruth {
  bool fits_at_all = true;   ///< false: the first row overflows already
  bool overflows = true;     ///< false: the sweep ends before the capacity
  bool misses_vary = false;  ///< false: every row misses on the same share, which looks as if nothing changed
  double fits = 0;           ///< bytes
  double last_clean = 0;     ///< bytes
};

struct Recorded {
  Trace trace;
  SweepTruth truth;
};

Recorded record(const SweepModel& model);

}  // namespace gputopo::change_point::testing
