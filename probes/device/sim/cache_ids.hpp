// The catalog's caches, where a model has them: a level of a path.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "program/program.hpp"

namespace gputopo::sim {

struct CacheId {
  std::string_view id;  ///< the catalog's
  program::Path path;
  std::size_t level;  ///< of the path, from 0
};

inline constexpr std::array<CacheId, 6> cache_ids{{{"l1", program::Path::global_cached, 0},
                                                   {"texture", program::Path::texture, 0},
                                                   {"read_only", program::Path::read_only, 0},
                                                   {"constant_l1", program::Path::constant, 0},
                                                   {"constant_l1_5", program::Path::constant, 1},
                                                   {"l2", program::Path::global_l2_only, 0}}};

}  // namespace gputopo::sim
