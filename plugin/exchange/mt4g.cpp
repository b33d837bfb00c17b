#include "exchange/mt4g.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "topology/json.hpp"

namespace gputopo::exchange {
namespace {

using Json = nlohmann::ordered_json;

constexpr double bytes_per_gib = 1024.0 * 1024 * 1024;

// Whole numbers as integers: sys-sage reads sizes as such.
Json number(double value) {
  constexpr double exact_limit = 9007199254740992.0;  // 2^53
  if (value == std::nearbyint(value) && std::fabs(value) < exact_limit) return static_cast<std::int64_t>(value);
  return value;
}

// One memory's attributes in the spelling of the format.
class Source {
 public:
  explicit Source(const Memory* memory) : memory_(memory) {}

  const Memory* memory() const { return memory_; }

  std::optional<double> value(std::string_view attribute) const {
    const Estimate* e = memory_ != nullptr ? memory_->find(attribute) : nullptr;
    return e != nullptr && is_usable(*e) ? e->value : std::nullopt;
  }

  // {"size": N} with how sure it is. `key` is "size" or "value", as the format has it for this member.
  void add_bytes(Json& into, const char* name, std::string_view attribute, const char* key = "size") const {
    const auto bytes = value(attribute);
    if (!bytes) return;
    into[name] = {{key, number(*bytes)}, {"unit", "bytes"}};
    if (const auto confidence = memory_->find(attribute)->confidence) into[name]["confidence"] = *confidence;
  }

  void add_latency(Json& into) const {
    if (const auto cycles = value("latency")) into["latency"] = {{"mean", *cycles}, {"unit", "cycles"}};
  }

  void add_miss_penalty(Json& into) const {
    if (const auto cycles = value("miss_penalty")) into["missPenalty"] = {{"value", *cycles}, {"unit", "cycles"}};
  }

 private:
  const Memory* memory_;
};

class Writer {
 public:
  explicit Writer(const Topology& topology) : t_(topology) {}

  Expected<std::string> text() {
    Json j;
    j["general"] = general();
    j["compute"] = compute();
    Json& memory = j["memory"];
    memory["main"] = main_memory();
    memory["l2"] = l2();
    memory["constant"] = constant();
    memory["shared"] = shared();
    memory["l1"] = first_level("l1", Needs::nothing).value_or(Json::object());
    for (const auto& [name, id] : {std::pair{"texture", "texture"}, std::pair{"readOnly", "read_only"}})
      if (auto cache = first_level(id, Needs::size_sector_and_latency)) memory[name] = std::move(*cache);
    j["meta"] = {{"timestamp", t_.provenance.created},
                 {"tool", fmt::format("{} {}", t_.provenance.tool_name, t_.provenance.tool_version)},
                 {"simulated", t_.provenance.simulated}};
    if (!missing_.empty())
      return fail(Error::Kind::bad_input,
                  fmt::format("mt4g's format can't be written for {}: its readers insist on {}; measure it again with "
                              "'gputopo discover --save'",
                              t_.gpu.name, fmt::join(missing_, ", ")));
    return json_text(j);
  }

 private:
  enum class Needs { nothing, size_sector_and_latency };

  Source source(std::string_view id) const { return Source(t_.find(id)); }

  Json needed(const char* what, double value) {
    if (!(value > 0)) missing_.emplace_back(what);
    return number(value);
  }

  Json general() {
    const Gpu& g = t_.gpu;
    const bool says_so = g.name.find("simulated") != std::string::npos;
    Json j{{"name", g.name + (t_.provenance.simulated && !says_so ? " (simulated)" : "")}, {"vendor", "NVIDIA"}};
    unsigned major = 0, minor = 0;
    const char* end = g.compute_capability.data() + g.compute_capability.size();
    const auto first = std::from_chars(g.compute_capability.data(), end, major);
    if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.' ||
        std::from_chars(first.ptr + 1, end, minor).ec != std::errc())
      missing_.emplace_back("the compute capability");
    j["computeCapability"] = {{"major", major}, {"minor", minor}};
    j["clockRate"] = {{"value", needed("the SM clock", static_cast<double>(g.clock_khz))}, {"unit", "kHz"}};
    return j;
  }

  Json compute() {
    const auto limit = [&](const char* what, std::uint64_t value) { return needed(what, static_cast<double>(value)); };
    const Limits& l = t_.gpu.limits;
    return {{"multiProcessorCount", limit("the number of SMs", t_.gpu.sm_count)},
            {"numberOfCoresPerMultiProcessor", limit("cores_per_sm", l.cores_per_sm)},
            {"maxThreadsPerBlock", limit("threads_per_block", l.threads_per_block)},
            {"warpSize", limit("threads_per_warp", l.threads_per_warp)},
            {"maxThreadsPerMultiProcessor", limit("threads_per_sm", l.threads_per_sm)},
            {"maxBlocksPerMultiProcessor", limit("blocks_per_sm", l.blocks_per_sm)}};
  }

  // sys-sage reads a latency together with both bandwidths, and aborts where one of them is missing.
  static void add_speed(Json& into, const Source& source, bool with_penalty) {
    const auto read = source.value("read_bandwidth"), write = source.value("write_bandwidth");
    if (read) into["readBandwidth"] = {{"value", *read / bytes_per_gib}, {"unit", "GiB/s"}};
    if (write) into["writeBandwidth"] = {{"value", *write / bytes_per_gib}, {"unit", "GiB/s"}};
    if (!read || !write || !source.value("latency")) return;
    source.add_latency(into);
    if (with_penalty) source.add_miss_penalty(into);
  }

  Json main_memory() {
    const Source memory = source("device_memory");
    Json j;
    j["totalGlobalMem"] = {{"value", needed("the device memory's size", memory.value("size").value_or(0))},
                           {"unit", "bytes"}};
    j["memoryClockRate"] = {{"value", needed("the memory's clock", static_cast<double>(t_.gpu.memory_clock_khz))},
                            {"unit", "kHz"}};
    j["memoryBusWidth"] = {{"value", needed("the memory's bus", t_.gpu.memory_bus_bits)}, {"unit", "bit"}};
    add_speed(j, memory, false);
    return j;
  }

  Json l2() {
    const Source l2 = source("l2");
    Json j;
    j["size"] = {{"value", needed("the L2's size", l2.value("size").value_or(0))}, {"unit", "bytes"}};
    if (const Memory* m = l2.memory(); m != nullptr && m->scope == Scope::gpu && m->instances_per_scope)
      j["amount"] = *m->instances_per_scope;
    l2.add_bytes(j, "lineSize", "line_size");
    l2.add_bytes(j, "fetchGranularity", "sector_size");
    l2.add_bytes(j, "segmentSize", "partition_size");
    add_speed(j, l2, true);
    return j;
  }

  // Either the whole constant memory alone, or both caches with what the parser insists on of each. No `sharedWith` of
  // the constant L1: sys-sage would then drop the cache.
  Json constant() {
    Json j;
    j["totalConstMem"] = {{"value", needed("constant_bytes", static_cast<double>(t_.gpu.limits.constant_bytes))},
                          {"unit", "bytes"}};
    const Source l1 = source("constant_l1"), l1_5 = source("constant_l1_5");
    if (!l1.value("size") || !l1.value("sector_size") || !l1.value("latency") || !l1_5.value("size") ||
        !l1_5.value("sector_size"))
      return j;
    add_cache(j["l1"], l1);
    Json& wide = j["l1.5"];
    l1_5.add_bytes(wide, "size", "size");
    l1_5.add_bytes(wide, "lineSize", "line_size");
    l1_5.add_bytes(wide, "fetchGranularity", "sector_size");
    l1_5.add_latency(wide);
    return j;
  }

  Json shared() {
    const Source shared = source("shared");
    Json j;
    j["sharedMemPerBlock"] = {
        {"value", needed("shared_bytes_per_block", static_cast<double>(t_.gpu.limits.shared_bytes_per_block))},
        {"unit", "bytes"}};
    j["sharedMemPerMultiProcessor"] = {{"value", needed("the shared memory's size", shared.value("size").value_or(0))},
                                       {"unit", "bytes"}};
    shared.add_latency(j);
    return j;
  }

  static void add_cache(Json& j, const Source& cache) {
    cache.add_bytes(j, "size", "size");
    cache.add_bytes(j, "lineSize", "line_size");
    cache.add_bytes(j, "fetchGranularity", "sector_size");
    cache.add_latency(j);
    if (cache.value("latency")) cache.add_miss_penalty(j);
    const Memory& m = *cache.memory();
    if (m.scope == Scope::sm && m.instances_per_scope) j["amountPerMultiprocessor"] = *m.instances_per_scope;
  }

  // L1, texture or read-only cache. sys-sage puts each into every SM, so one that is known to be shared by several SMs
  // can't be said.
  std::optional<Json> first_level(std::string_view id, Needs needs) const {
    const Source cache = source(id);
    const Memory* m = cache.memory();
    if (m == nullptr || (m->scope && m->scope != Scope::sm)) return std::nullopt;
    if (needs == Needs::size_sector_and_latency &&
        (!cache.value("size") || !cache.value("sector_size") || !cache.value("latency")))
      return std::nullopt;
    Json j = Json::object();
    add_cache(j, cache);
    constexpr std::array<std::pair<std::string_view, const char*>, 3> names{
        {{"l1", "L1"}, {"read_only", "Read Only"}, {"texture", "Texture"}}};
    for (const auto& [other, name] : names) {
      const Memory* o = t_.find(other);
      if (other != id && o != nullptr && !m->physical_cache.empty() && o->physical_cache == m->physical_cache)
        j["sharedWith"].push_back(name);
    }
    return j;
  }

  const Topology& t_;
  std::vector<std::string> missing_;
};

}  // namespace

Expected<std::string> mt4g_text(const Topology& topology) {
  return Writer(topology).text();
}

}  // namespace gputopo::exchange
