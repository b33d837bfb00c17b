// The user's wish that the program end, and how what takes long learns of it.
//
// A signal's handler sets the flag; loops that may run for more than a few milliseconds look at it once a round. What
// is thrown passes through statistics and simulations, which have no errors of their own, up to the command.
#pragma once

#include <atomic>
#include <exception>

namespace gputopo::stop {

class Interrupted : public std::exception {
 public:
  const char* what() const noexcept override { return message; }
  static constexpr const char* message = "interrupted before the work was complete";
};

/// Of the whole process: true from the first SIGINT or SIGTERM on.
inline std::atomic<bool> requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may touch lock-free atomics only");

/// Throws Interrupted where the program was asked to end. Costs one load.
inline void look() {
  if (requested.load(std::memory_order_relaxed)) [[unlikely]]
    throw Interrupted{};
}

}  // namespace gputopo::stop
