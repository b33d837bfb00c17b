// Simulated time: who else uses the GPU in it, and how fast its clock runs.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "device/sim/hierarchy.hpp"
#include "device/sim/model.hpp"
#include "device/sim/random.hpp"
#include "program/program.hpp"

namespace gputopo::sim {

/// A timer that runs with the cycles of the programs, from the making of the device on.
///
/// Programs of a batch run at once where they may: those on different SMs from the same moment on, those on one SM (and
/// those that want the GPU for themselves) one after another. A neighbour's turns lie fixed in time; a launch that
/// falls into one waits for its end. What a program crosses, it reports as a real GPU's timer would show it.
class Timeline {
 public:
  /// Both must outlive the Timeline.
  Timeline(const Model& model, Hierarchy& hierarchy);

  /// Whether anything depends on the time that loads take. Where not, spend() need not be called.
  bool is_eventful() const { return eventful_; }

  void begin_batch();
  void begin_program(const std::vector<std::uint32_t>& sms, bool alone);
  /// Lets `cycles` of a load along `route` pass. Gives the cycles that it takes longer by what happens in it.
  double spend(double cycles, Route& route);
  /// Lets a tenant's lines into the route's caches that time has brought while no load could let them in.
  void let_in(Route& route);
  program::Interruptions end_program();

 private:
  struct Gap {
    double begin_ns, end_ns;
  };
  const Gap& gap(std::size_t number);
  void enter(double time_ns);
  void pass_gaps_before_start();
  double cross_gaps(Route& route);
  double disturb(double us, Route& route);
  void set_clock(double cycles_per_ns);
  struct Duration {
    double cycles = -1, ns = 0, us = 0;
  };
  const Duration& duration_of(double cycles);
  void follow_clock();

  const Model* model_;
  Hierarchy* hierarchy_;
  bool eventful_;
  Random random_;
  std::deque<Gap> gaps_;  // a neighbour's turns, from number first_gap_ on
  std::size_t first_gap_ = 0;
  std::size_t next_gap_ = 0;     // the first that ends after the present
  std::size_t gaps_felt_ = 0;    // those before have left their traces in the caches
  std::size_t next_clock_ = 0;   // the first clock step in the future
  std::vector<double> free_ns_;  // by SM: when its last program of this batch ends
  std::vector<std::uint32_t> sms_;
  bool alone_ = false;
  double batch_ns_ = 0, now_ns_ = 0;
  double cycles_per_ns_ = 0;
  Duration latest_;           // of the load before, at this clock
  double lines_at_once_ = 0;  // of a tenant, before one load
  double busy_cycles_ = 0, busy_ns_ = 0;
  double lines_due_ = 0, private_lines_due_ = 0;  // of a tenant, that time has brought but no load has let in
  std::vector<bool> has_tenant_;                  // by SM
  program::Interruptions seen_;
};

}  // namespace gputopo::sim
