#include "random_model.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "device/sim/random.hpp"

namespace gputopo::test {
namespace {

using Json = nlohmann::json;

constexpr double next_level_factor = 1.4;

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(sim::mix(seed)), seed_(seed) {}

  Json model() {
    Json j;
    j["schema"] = "gputopo-model/1";
    j["name"] = fmt::format("random-{}", seed_);
    const std::uint32_t tpc = one_of({1, 2, 2, 2, 3});
    sm_count_ = tpc * (2 + below(6));
    j["gpu"] = {{"name", fmt::format("Random {}", seed_)},
                {"compute_capability", "9.0"},
                {"sm_count", sm_count_},
                {"clock_khz", 1500000},
                {"memory", "2 GiB"}};
    j["groups"] = {{"tpc", tpc}, {"gpc", uneven_groups(tpc)}};
    l2_cycles_ = between(120, 320);
    memory_cycles_ = l2_cycles_ * between(next_level_factor, 2.5);
    if (chance(0.9)) add_l2(j);
    add_global(j);
    if (chance(0.9)) add_constants(j);
    // A constant cache of the whole GPU isn't known of GPUs large enough for distances.
    const bool wide = caches_.contains("constant_l1_5") && caches_["constant_l1_5"]["scope"] == "gpu";
    if (has_l2_ && !wide && chance(0.25)) add_distance(j);
    add_noise(j);
    if (chance(0.1)) j["limits"] = {{"constant_modules", one_of({1, 2})}};
    j["caches"] = caches_;
    j["paths"] = paths_;
    return j;
  }

 private:
  // Whole cycles or halves, so that messages are easy to read.
  double between(double low, double high) { return std::round(2 * (low + random_.unit() * (high - low))) / 2; }
  std::uint32_t below(std::uint32_t bound) { return random_.below(bound); }
  bool chance(double probability) { return random_.unit() < probability; }
  template <class T>
  T one_of(std::initializer_list<T> list) {
    return *(list.begin() + below(static_cast<std::uint32_t>(list.size())));
  }

  // Whole TPCs dealt to up to three groups, which may end up of different sizes.
  Json uneven_groups(std::uint32_t tpc) {
    const std::uint32_t tpcs = sm_count_ / tpc;
    std::vector<std::vector<std::uint32_t>> groups(std::min(tpcs, 1 + below(3)));
    for (std::uint32_t i = 0; i < tpcs; ++i) {
      // Each group gets one first.
      auto& group = groups[i < groups.size() ? i : below(static_cast<std::uint32_t>(groups.size()))];
      for (std::uint32_t sm = 0; sm < tpc; ++sm) group.push_back(i * tpc + sm);
    }
    return groups;
  }

  std::string replacement() {
    return one_of<const char*>({"lru", "lru", "fifo", "random", "tree_plru", "not_most_recent"});
  }

  struct Geometry {
    std::uint64_t least_bytes, most_bytes;
    std::uint32_t least_line, most_line;
    std::uint32_t least_sector = 32;
    std::uint32_t least_ways = 2;
    std::uint32_t lines_multiple = 1;
  };

  // Lines spread over sets: a product of sets and ways, either of which need not be a power of two, or unequal sets.
  Json cache(const Geometry& g) {
    Json c;
    const auto steps = static_cast<std::uint32_t>(std::countr_zero(g.most_line / g.least_line)) + 1;
    const std::uint32_t line = g.least_line << below(steps);
    std::uint32_t sector = line;
    if (chance(0.6)) sector = std::max(g.least_sector, line >> below(3));
    sector = std::min(sector, line);
    c["line"] = line;
    c["sector"] = sector;
    const double size =
        static_cast<double>(g.least_bytes) *
        std::pow(static_cast<double>(g.most_bytes) / static_cast<double>(g.least_bytes), random_.unit());
    auto lines = static_cast<std::uint32_t>(size / line);
    if (chance(0.4)) lines = std::bit_floor(lines);
    if (chance(0.12)) {
      c["set_ways"] = unequal_sets(lines);
      c["size"] = std::uint64_t{lines} * line;
    } else {
      std::uint32_t ways = g.least_ways + below(15);
      if (chance(0.5)) ways = std::max(g.least_ways, std::bit_ceil(ways));
      std::uint32_t sets = std::max(1U, lines / ways);
      if (chance(0.5)) sets = std::bit_floor(sets);
      if (chance(0.1)) {
        ways *= sets;
        sets = 1;
      }
      if (chance(0.2) && ways % 4 == 0) c["consecutive_lines"] = one_of({2, 4});
      c["sets"] = sets;
      c["ways"] = ways;
      c["size"] = std::uint64_t{sets} * ways * line;
    }
    c["index"] = one_of<const char*>({"modulo", "modulo", "xor", "hash"});
    // A hash of address bits is a number of bits.
    if (!c.contains("sets") || !std::has_single_bit(c["sets"].get<std::uint32_t>())) c["index"] = "modulo";
    // Neighbours in one set are known of a cache indexed by plain address bits (Fermi's texture cache).
    if (c["index"] == "hash") c.erase("consecutive_lines");
    c["replacement"] = replacement();
    // Trees of bits are built for few ways, a power of two of them.
    const std::uint32_t tree_ways = c.contains("ways") ? c["ways"].get<std::uint32_t>() : 0;
    const bool grows_trees = std::has_single_bit(tree_ways) && tree_ways <= 32;
    if (c["replacement"] == "tree_plru" && !grows_trees) c["replacement"] = "lru";
    return c;
  }

  // A permuted index over rows that don't divide a buffer's alignment: no contiguous footprint of the full size fits,
  // whatever its start but one. Then only what a full cache holds tells the size, which can be counted on the way back
  // where the oldest line goes first. So other replacement goes with plain rows.
  static void make_countable(Json& c) {
    const bool rows_of_two = c.contains("sets") && std::has_single_bit(c["sets"].get<std::uint32_t>());
    const bool counts = c["replacement"] == "lru" || c["replacement"] == "fifo";
    const bool plain = rows_of_two && !c.contains("reserved") && c["ways"].get<std::uint32_t>() >= 4;
    if (!counts && !plain) c["index"] = "modulo";
    // Nobody builds an XOR of digits that aren't bits, or permutes sets of different sizes.
    if (!c.contains("sets") || (!rows_of_two && c["index"] == "xor")) c["index"] = "modulo";
  }

  Json unequal_sets(std::uint32_t lines) {
    const std::uint32_t sets = std::clamp(lines / 4, 2U, 2 + below(8));
    std::vector<std::uint32_t> ways(sets, lines / sets);
    const std::uint32_t moved = ways[0] / 4;
    ways[0] += moved;
    ways[sets - 1] -= moved;
    ways[0] += lines % sets;
    return ways;
  }

  void add_l2(Json& j) {
    Json l2 = cache({256 << 10, 2 << 20, 32, 256, 32, 4, 1});
    l2.erase("set_ways");
    // Fully associative L2s exist nowhere. Those that replace lines at random settle too slowly for a footprint to be
    // told from one that is slightly too large: their sizes come from the driver and are not put to the test here.
    if (!l2.contains("sets") || l2["sets"] == 1) {
      const std::uint64_t lines = l2["size"].get<std::uint64_t>() / l2["line"].get<std::uint64_t>() / 16;
      l2["sets"] = lines;
      l2["ways"] = 16;
      l2["size"] = lines * 16 * l2["line"].get<std::uint64_t>();
      l2.erase("consecutive_lines");
    }
    l2["scope"] = "gpu";
    const bool orderly = l2["replacement"] != "random" && l2["replacement"] != "not_most_recent";
    if (!orderly) l2["replacement"] = "fifo";
    // Any number of slices, between which addresses are hashed.
    if (!std::has_single_bit(l2["sets"].get<std::uint32_t>()) && chance(0.4)) {
      l2["index"] = "hash";
      l2.erase("consecutive_lines");
    }
    has_l2_ = true;
    l2_side_bytes_ = l2["size"].get<std::uint64_t>();
    if (chance(0.25)) {
      const std::uint32_t count = sm_count_ % 4 == 0 && chance(0.3) ? 4 : 2;
      const std::uint32_t side = (sm_count_ + count - 1) / count;
      j["groups"]["partition"] = chance(0.5) ? Json{{"interleaved", count}} : Json(side);
      l2["size"] = l2["size"].get<std::uint64_t>() * count;
      l2["partitions"] = {{"count", count},
                          {"mode", one_of<const char*>({"home", "near_copy"})},
                          {"interleave", one_of<const char*>({"4 KiB", "4 KiB", "8 KiB"})}};
      l2_far_cycles_ = l2_cycles_ * between(1.25, 1.6);
      memory_cycles_ = l2_far_cycles_ * between(next_level_factor, 2);
    }
    caches_["l2"] = l2;
  }

  // The levels behind a first one of `latency` cycles, whose own path adds `extra` to what all paths pay.
  Json beyond(double latency, double extra) {
    Json levels = Json::array();
    double l2 = std::max(l2_cycles_ + extra, next_level_factor * latency);
    const double more = l2 - l2_cycles_;
    if (has_l2_) {
      Json level = {{"level", "l2"}, {"latency", l2}};
      if (l2_far_cycles_ > 0) level["far_latency"] = l2_far_cycles_ + more;
      levels.push_back(level);
    }
    levels.push_back({{"level", "device_memory"}, {"latency", memory_cycles_ + more}});
    return levels;
  }

  Json through(const std::string& name, double latency, double extra) {
    Json levels = beyond(latency, extra);
    levels.insert(levels.begin(), Json{{"level", name}, {"latency", latency}});
    return levels;
  }

  // The L2 serves all SMs, and holds more than one SM's L1 on every GPU.
  std::uint64_t largest_l1_bytes() const {
    return has_l2_ ? std::min<std::uint64_t>(192 << 10, l2_side_bytes_ * 2 / 3) : 192 << 10;
  }

  double first_level_cycles(double low) { return between(low, l2_cycles_ / next_level_factor); }

  void add_global(Json& j) {
    const bool caches_global = chance(0.8);
    const double l1_cycles = first_level_cycles(24);
    if (caches_global) {
      caches_["l1"] = cache({4 << 10, largest_l1_bytes(), 32, 256, 32, 2, 1});
      paths_["global_cached"] = through("l1", l1_cycles, 0);
    } else {
      paths_["global_cached"] = beyond(0, 0);
    }
    if (!has_l2_) paths_["global_l2_only"] = Json::array({{{"level", "device_memory"}, {"latency", memory_cycles_}}});
    bool unified = false;
    if (chance(0.85)) {
      unified = caches_global && chance(0.5);
      const double cycles = unified ? between(l1_cycles, l2_cycles_ / next_level_factor) : first_level_cycles(40);
      if (!unified) caches_["texture"] = cache({4 << 10, 64 << 10, 32, 128, 32, 2, 1});
      paths_["texture"] = through(unified ? "l1" : "texture", cycles, between(0, 40));
      if (unified && chance(0.7)) paths_["texture"][0]["tag_class"] = 1;
    }
    if (chance(0.8)) {
      const bool with_texture = paths_.contains("texture") && !unified && chance(0.6);
      if (with_texture) {
        paths_["read_only"] = through("texture", first_level_cycles(30), between(0, 20));
      } else if (caches_global && chance(0.7)) {
        paths_["read_only"] = "global_cached";
      } else {
        caches_["read_only"] = cache({4 << 10, 64 << 10, 32, 128, 32, 2, 1});
        paths_["read_only"] = through("read_only", first_level_cycles(30), between(0, 20));
      }
    }
    if (caches_global && chance(0.6)) paths_["global_no_allocate"] = true;
    const bool reserved = caches_global && chance(0.3);
    if (reserved) reserve(caches_["l1"]);
    if (chance(0.9)) add_shared(j, caches_global);
    for (const char* name : {"l1", "texture", "read_only"})
      if (caches_.contains(name)) make_countable(caches_[name]);
  }

  // A reserved part takes ways away; the rest is no round number any more.
  void reserve(Json& c) {
    if (c.contains("set_ways") || c["replacement"] == "tree_plru") return;
    const auto line = c["line"].get<std::uint64_t>();
    const std::uint64_t lines = c["size"].get<std::uint64_t>() / line;
    c["reserved"] = line * (1 + below(static_cast<std::uint32_t>(std::max<std::uint64_t>(1, lines / 16))));
  }

  void add_shared(Json& j, bool has_l1) {
    const double latency = between(20, 60);
    if (has_l1 && chance(0.5)) {
      carve(j, latency);
      return;
    }
    j["shared"] = {{"carve_outs", {one_of<const char*>({"16 KiB", "48 KiB", "96 KiB"})}}, {"latency", latency}};
  }

  // Arrays that shared memory is carved from are multiples of 32 KiB, and carve-outs of 8 KiB apart, on every GPU that
  // the CUDA C++ Programming Guide lists.
  void carve(Json& j, double latency) {
    Json& l1 = caches_["l1"];
    std::uint64_t array = one_of({64, 96, 128, 192, 256}) << 10;
    if (has_l2_ && array > l2_side_bytes_ * 2 / 3) array = 128 << 10;
    const auto lines = static_cast<std::uint32_t>(array / l1["line"].get<std::uint64_t>());
    for (const char* name : {"set_ways", "consecutive_lines", "reserved"}) l1.erase(name);
    const std::uint32_t sets = one_of({1, 4, 8, 16, 32});
    l1["sets"] = sets;
    l1["ways"] = lines / sets;
    l1["size"] = array;
    if (l1["replacement"] == "tree_plru" && (l1["ways"] > 32 || !std::has_single_bit(l1["ways"].get<std::uint32_t>())))
      l1["replacement"] = "lru";
    if (chance(0.5)) reserve(l1);
    Json sizes = Json::array();
    const std::uint64_t unit = 8 << 10;
    if (chance(0.5)) sizes.push_back(0);
    for (std::uint64_t n = 1 + below(3); n * unit <= array * 3 / 4; n += 1 + below(4)) sizes.push_back(n * unit);
    j["shared"] = {{"carved_from", "l1"}, {"carve_outs", sizes}, {"latency", latency}};
    if (chance(0.4)) j["shared"]["block_reserved"] = 1024;
  }

  // Constants can't be placed at will, so permuted rows have to divide a bank.
  static void make_plain(Json& c) {
    if (!c.contains("sets") || !std::has_single_bit(c["sets"].get<std::uint32_t>()) ||
        c["ways"].get<std::uint32_t>() < 4)
      c["index"] = "modulo";
  }

  void add_constants(Json& j) {
    caches_["constant_l1"] = cache({2 << 10, 8 << 10, 32, 128, 32, 2, 1});
    caches_["constant_l1"].erase("set_ways");
    Json& l1 = caches_["constant_l1"];
    if (!l1.contains("sets")) {
      l1["sets"] = 1;
      l1["ways"] = l1["size"].get<std::uint64_t>() / l1["line"].get<std::uint64_t>();
    }
    make_plain(l1);
    const double cycles = between(24, l2_cycles_ / (next_level_factor * next_level_factor));
    const bool has_second = chance(0.8);
    if (!has_second) {
      paths_["constant"] = through("constant_l1", cycles, between(0, 60));
    } else {
      const double second = between(next_level_factor * cycles, l2_cycles_ / next_level_factor);
      const std::uint64_t l1_bytes = l1["size"].get<std::uint64_t>();
      // At least four times the first level on every GPU known, before rows are rounded.
      Json l15;
      do {
        l15 = cache({std::max<std::uint64_t>(4 * l1_bytes, 8 << 10), 128 << 10, l1["line"].get<std::uint32_t>(), 256,
                     l1["sector"].get<std::uint32_t>(), 4, 1});
      } while (l15["size"].get<std::uint64_t>() < 3 * l1_bytes);
      // What a miss brings in is a whole line on every GPU known, and the L1 in front hides anything else.
      l15["sector"] = l15["line"];
      l15["scope"] = one_of<const char*>({"sm", "sm", "tpc", "gpc", "gpc", "gpu"});
      make_plain(l15);
      caches_["constant_l1_5"] = l15;
      paths_["constant"] = through("constant_l1_5", second, between(0, 60));
      paths_["constant"].insert(paths_["constant"].begin(), Json{{"level", "constant_l1"}, {"latency", cycles}});
      if (chance(0.8)) add_instructions(j, chance(0.85));
    }
    // One line that is always lost looks like one only where it is a fixed cost over several footprints: under LRU
    // (docs/models.md) and with several sets, as on real GPUs.
    const bool lossy = l1["replacement"] == "lru" && l1["index"] == "modulo" && l1["sets"].get<std::uint32_t>() >= 4 &&
                       l1["line"].get<std::uint32_t>() >= 64 && !l1.contains("consecutive_lines");
    const bool orderly = !has_second || caches_["constant_l1_5"]["replacement"] == "lru";
    if (chance(0.7) && lossy && orderly) {
      const std::uint32_t set = below(l1["sets"].get<std::uint32_t>() / 2);  // of the sets that fill up first
      j["background"] = {{"constants", 64}, {"constant_offset", l1["line"].get<std::uint32_t>() * set}};
      const bool shares_code = paths_.contains("instruction") && !caches_.contains("instruction_l1") &&
                               caches_["constant_l1_5"]["replacement"] == "lru";
      if (shares_code) j["background"]["code"] = 256 * (1 + below(4));
    }
  }

  // Code passes the constants' second level, or one of its own.
  void add_instructions(Json& j, bool shared) {
    const auto line = std::min<std::uint32_t>(128, caches_["constant_l1_5"]["line"].get<std::uint32_t>());
    caches_["instruction_l0"] = {{"size", 4096 << below(4)}, {"line", line}, {"ways", 4}};
    const double second = between(20, 60);
    Json levels = beyond(second, 0);
    const char* next = shared ? "constant_l1_5" : "instruction_l1";
    if (!shared) caches_[next] = {{"size", 32768 << below(3)}, {"line", 128}, {"ways", 8}};
    levels.insert(levels.begin(), Json{{"level", next}, {"latency", second}});
    levels.insert(levels.begin(), Json{{"level", "instruction_l0"}, {"latency", 0}});
    paths_["instruction"] = levels;
    j["execution"] = {{"instruction", one_of({8, 16})}, {"cycles_per_instruction", 2 + below(8)}};
  }

  // Latencies past the L1s depend on where SM and slice lie, by up to a tenth.
  void add_distance(Json& j) {
    const double unit = l2_cycles_ / 100;
    j["distance"] = {{"gpc", unit * between(0, 4)}, {"tpc", unit * between(0, 2)}, {"sm", unit * between(0, 1)}};
  }

  void add_noise(Json& j) {
    j["clock_overhead"] = {{"default", 8 + below(24)}, {"constant", 8 + below(24)}, {"texture", 8 + below(24)}};
    const std::string jitter = one_of<const char*>({"none", "gaussian", "uniform"});
    j["noise"] = {{"jitter", jitter}, {"seed", seed_}};
    if (jitter == "uniform") j["noise"]["cycles"] = 1 + below(3);
    if (jitter == "gaussian") j["noise"]["cycles"] = between(0.5, 2);
    if (chance(0.8)) {
      j["noise"]["outlier_probability"] = 5e-4 * random_.unit();
      j["noise"]["outlier_cycles"] = 100 + below(400);
    }
    // First levels only: no GPU is known to have several second levels in one SM.
    for (const char* name : {"l1", "texture", "read_only", "constant_l1"})
      if (caches_.contains(name) && chance(0.15)) add_instances(j, caches_[name], name);
  }

  // Some warps use another instance of the same size.
  void add_instances(const Json& j, Json& c, const std::string& name) {
    const bool carved = j.contains("shared") && j["shared"].contains("carved_from") && name == "l1";
    if (carved) return;
    c["instances"] = one_of({2, 4});
    // Neighbouring warps by turns, or pairs of them.
    if (c["instances"] == 2 && chance(0.5)) c["warp_map"] = {0, 0, 1, 1};
  }

  sim::Random random_;
  std::uint64_t seed_;
  std::uint32_t sm_count_ = 0;
  std::uint64_t l2_side_bytes_ = 0;
  double l2_cycles_ = 0, l2_far_cycles_ = 0, memory_cycles_ = 0;
  bool has_l2_ = false;
  Json caches_ = Json::object();
  Json paths_ = Json::object();
};

}  // namespace

nlohmann::json random_model(std::uint64_t seed) {
  return Generator(seed).model();
}

}  // namespace gputopo::test
