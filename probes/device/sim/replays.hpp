// What walks made of a cache that was empty before: programs of one batch begin with the same ones.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/sim/cache_array.hpp"
#include "device/sim/residents.hpp"

namespace gputopo::sim {

/// Loads at `count` addresses, a stride apart, in steps round and round from the first position.
struct Rounds {
  std::uint64_t address = 0, count = 0, stride_bytes = 0;
  std::uint64_t first = 0, step = 0;
  std::uint64_t loads = 0;
  friend bool operator==(const Rounds&, const Rounds&) = default;
};

/// A walk of any instance of a cache, and what came before it since that was cleared.
struct Walked {
  const CacheModel* cache = nullptr;
  std::uint64_t lines = 0;  ///< that the instance holds
  std::uint32_t tag_class = 0;
  std::uint32_t after = 0;  ///< history of the instance
  bool by_lines = false;    ///< asked for line by line
  Rounds rounds;
  friend bool operator==(const Walked&, const Walked&) = default;
};

struct Replay {
  Walked walked;
  std::uint32_t history = 0;  ///< of the instance afterwards
  bool is_known = false;      ///< the rest is there
  CacheArray::State state;
  std::uint64_t changes = 0;
  LoadList onward;  ///< what the next level was asked for, in order
};

/// The latest walks.
class Replays {
 public:
  /// The walk where it was made lately, else null.
  Replay* find(const Walked& walked) {
    for (Replay& r : replays_)
      if (r.history != 0 && r.walked == walked) return &r;
    return nullptr;
  }
  /// Takes the oldest one's place. Nothing is known of it but the history that it leaves.
  Replay& add(const Walked& walked) {
    Replay& r = replays_[latest_++ % replays_.size()];
    r = {};
    r.walked = walked;
    r.history = ++histories_;
    return r;
  }

 private:
  std::array<Replay, 16> replays_;  // a batch has a few kinds of program, of a few walks each
  std::size_t latest_ = 0;
  std::uint32_t histories_ = 0;  // 0: cleared
};

}  // namespace gputopo::sim
