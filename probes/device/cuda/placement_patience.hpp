// How long a process waits for room on the SMs that another one's blocks hold. Pure arithmetic: no GPU, no clock.
#pragma once

#include <chrono>

namespace gputopo::device::cuda {

/// Programs are launched again when the hardware put no block on their SM. Blocks of a process that runs beside this
/// one (under MPS) may take the room for as long as its kernels last, so that all launches of a process have one
/// budget: of time that was spent in vain, so much that a discovery ends within five seconds, and a little more for as
/// long as the process goes on, since the other one may end.
class PlacementPatience {
 public:
  using Duration = std::chrono::steady_clock::duration;

  /// What a launch would be tried for.
  enum class Attempt {
    first,                  ///< costs nothing where the SMs are free, and where they aren't as little as noticing it
    first_of_a_rendezvous,  ///< blocks wait for one another: a quarter of a second in vain where one can't come
    again
  };

  /// Whether it may be, `running` after the device was opened.
  bool allows(Attempt attempt, Duration running) const {
    constexpr int regained_in = 16;  // a process takes a sixteenth longer at most
    const Duration budget = at_first + running / regained_in;
    switch (attempt) {
      case Attempt::first:
        return true;
      case Attempt::first_of_a_rendezvous:
        return in_vain_ < budget;
      case Attempt::again:
        return in_vain_ < budget * 3 / 5;  // the rest is left for launches that weren't tried at all
    }
    return false;
  }

  void add_in_vain(Duration spent) { in_vain_ += spent; }

 private:
  static constexpr std::chrono::milliseconds at_first{2500};
  Duration in_vain_{};
};

}  // namespace gputopo::device::cuda
