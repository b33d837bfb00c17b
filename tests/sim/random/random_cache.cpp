#include "random_cache.hpp"

#include <bit>
#include <vector>

namespace gputopo::test {
namespace {

using Json = nlohmann::json;

// A few lines moved from one set to another.
std::vector<std::uint32_t> unequal_sets(Draw& draw, std::uint32_t lines) {
  const std::uint32_t sets = std::min(lines, draw.whole(2, 9));
  std::vector<std::uint32_t> ways(sets, lines / sets);
  ways[0] += lines % sets;
  const std::uint32_t moved = draw.below(ways[sets - 1] / 2 + 1);
  ways[0] += moved;
  ways[sets - 1] -= moved;
  return ways;
}

// Sets times ways, either of which need not be a power of two.
void arrange(Draw& draw, Json& c, std::uint32_t lines, std::uint32_t least_lines, std::uint32_t line) {
  std::uint32_t ways = draw.whole(1, 24);
  if (draw.chance(0.5)) ways = std::bit_ceil(ways);
  ways = std::min(ways, lines);
  std::uint32_t sets = lines / ways;
  if (draw.chance(0.5)) sets = std::bit_floor(sets);
  ways = std::max(ways, (least_lines + sets - 1) / sets);  // what rounding took away
  const bool small_enough = sets * ways <= 4096;
  if (small_enough && draw.chance(0.1)) {
    ways *= sets;
    sets = 1;
  }
  c["sets"] = sets;
  c["ways"] = ways;
  c["size"] = std::uint64_t{sets} * ways * line;
  for (const std::uint32_t together : {2U, 4U})
    if (ways % together == 0 && draw.chance(0.1)) c["consecutive_lines"] = together;
}

}  // namespace

std::uint64_t size_of(const Json& cache) {
  return cache["size"].get<std::uint64_t>();
}

std::uint64_t line_of(const Json& cache) {
  return cache["line"].get<std::uint64_t>();
}

Json random_cache(Draw& draw, const CacheRange& range) {
  Json c;
  const auto doublings = static_cast<std::uint32_t>(std::countr_zero(range.most_line / range.least_line));
  const std::uint32_t line = range.least_line << draw.below(doublings + 1);
  const std::uint32_t most_sectors = std::min(range.most_sectors, line / 32);
  c["line"] = line;
  c["sector"] = line >> draw.below(static_cast<std::uint32_t>(std::bit_width(most_sectors)));
  auto lines = static_cast<std::uint32_t>(draw.scaled(range.least_bytes, range.most_bytes) / line);
  if (draw.chance(0.4)) lines = std::bit_floor(lines);
  const auto least_lines = static_cast<std::uint32_t>(std::ceil(range.least_bytes / line));
  lines = std::max(lines, least_lines);
  if (lines <= 4096 && draw.chance(0.1)) {
    c["set_ways"] = unequal_sets(draw, lines);
    c["size"] = std::uint64_t{lines} * line;
  } else {
    arrange(draw, c, lines, least_lines, line);
  }
  c["index"] = draw.one_of<const char*>({"modulo", "modulo", "xor", "hash"});
  c["replacement"] = draw.one_of<const char*>({"lru", "lru", "fifo", "random", "tree_plru", "not_most_recent"});
  return c;
}

void add_sharing(Draw& draw, Json& cache, std::uint32_t sm_count, double shared_probability) {
  if (draw.chance(shared_probability)) {
    const std::uint32_t sharers = draw.whole(2, std::min(4U, sm_count));
    if (draw.chance(0.7)) {
      cache["shared_by"] = sharers;
    } else {
      cache["shared_by"] = Json{{"interleaved", (sm_count + sharers - 1) / sharers}};
    }
  } else if (draw.chance(0.15)) {
    cache["instances"] = draw.one_of({2, 4});
    if (cache["instances"] == 2 && draw.chance(0.5)) cache["warp_map"] = {0, 0, 1, 1};
  }
}

}  // namespace gputopo::test
