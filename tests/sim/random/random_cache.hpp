// One random cache: size, lines, sets, index, replacement. docs/domain.md, 'Caches'.
#pragma once

#include <cstdint>

#include <nlohmann/json.hpp>

#include "draw.hpp"

namespace gputopo::test {

struct CacheRange {
  double least_bytes = 0, most_bytes = 0;
  std::uint32_t least_line = 32, most_line = 256;
  std::uint32_t most_sectors = 4;  ///< in a line
};

/// A cache of docs/models.md without its scope. Anything that can be built, whether or not somebody did.
nlohmann::json random_cache(Draw& draw, const CacheRange& range);

/// Gives a cache instances of its own an SM, or makes several SMs share one. `groups`: may be shared by a named group.
void add_sharing(Draw& draw, nlohmann::json& cache, std::uint32_t sm_count, double shared_probability);

std::uint64_t size_of(const nlohmann::json& cache);
std::uint64_t line_of(const nlohmann::json& cache);

}  // namespace gputopo::test
