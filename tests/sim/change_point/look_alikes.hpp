// Sweeps that look like those of real GPUs: each kind a family of caches and ways of recording them, drawn by seed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sweep_model.hpp"

namespace gputopo::change_point::testing {

struct LookAlike {
  std::string kind;
  std::function<SweepModel(std::uint64_t seed)> draw;
};

/// All kinds, in the order in which a table lists them.
const std::vector<LookAlike>& look_alikes();

}  // namespace gputopo::change_point::testing
