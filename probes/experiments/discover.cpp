#include "experiments/discover.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <optional>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "experiments/carve_outs.hpp"
#include "experiments/constant_l1_5.hpp"
#include "experiments/device_memory.hpp"
#include "experiments/estimates.hpp"
#include "experiments/extras.hpp"
#include "experiments/l2.hpp"
#include "experiments/session.hpp"
#include "experiments/shared.hpp"
#include "experiments/sm_cache.hpp"

namespace gputopo::experiments {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array<std::string_view, 8> ids{"l1", "texture", "read_only",    "constant_l1", "constant_l1_5",
                                              "l2", "shared",  "device_memory"};
constexpr CachePath l1_path{"l1", "L1 data cache", program::Path::global_cached, slot_global};
constexpr CachePath texture_path{"texture", "Texture cache", program::Path::texture, slot_texture};
constexpr CachePath read_only_path{"read_only", "Read-only data cache", program::Path::read_only, slot_global};
constexpr CachePath constant_path{"constant_l1", "Constant L1 cache", program::Path::constant, slot_constant};

std::string now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

class Discovery {
 public:
  Discovery(device::Device& device, const DiscoverOptions& options) : session_(device, options), options_(options) {}

  Expected<Topology> run() {
    const auto begin = Clock::now();
    Topology t;
    const device::DeviceInfo& info = session_.info();
    t.gpu = info.gpu;
    t.provenance.tool_version = GPUTOPO_VERSION;
    t.provenance.created = now();
    t.provenance.device = info.kind;
    t.provenance.simulated = info.simulated;
    t.provenance.driver_version = info.driver_version;
    t.provenance.kernels = info.kernels;
    t.provenance.seed = options_.seed;
    t.provenance.method = options_.method == Method::thesis ? "thesis" : "default";
    if (auto ok = measure_all(t.provenance); !ok) return tl::unexpected<Error>(ok.error());
    collect(t);
    session_.report(1, "done");
    t.provenance.duration_s = seconds_since(begin);
    return t;
  }

 private:
  static double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

  bool wanted(std::string_view id) const {
    return options_.only.empty() || std::find(options_.only.begin(), options_.only.end(), id) != options_.only.end();
  }

  template <class Measure>
  Expected<void> step(Provenance& provenance, std::string_view id, const Measure& measure) {
    session_.report(static_cast<double>(done_++) / static_cast<double>(ids.size() + 6), id);
    const auto begin = Clock::now();
    Expected<void> ok = measure();
    provenance.breakdown_s.emplace_back(id, seconds_since(begin));
    return ok;
  }

  // Constants first: the very first walk finds them in no cache. Later steps use what earlier ones found.
  Expected<void> measure_all(Provenance& provenance) {
    using Step = std::pair<std::string_view, Expected<void> (Discovery::*)()>;
    static constexpr std::array<Step, 8> steps{{{"constant_l1", &Discovery::constant_l1},
                                                {"l1", &Discovery::l1},
                                                {"texture", &Discovery::texture},
                                                {"read_only", &Discovery::read_only},
                                                {"l2", &Discovery::l2},
                                                {"constant_l1_5", &Discovery::constant_l1_5},
                                                {"shared", &Discovery::shared},
                                                {"device_memory", &Discovery::device_memory}}};
    for (const auto& [id, measure] : steps) {
      if (!needed(id)) continue;
      if (auto ok = step(provenance, id, [&, m = measure] { return (this->*m)(); }); !ok) return ok;
    }
    if (auto ok = settle_penalties(); !ok) return ok;
    if (auto ok = step(provenance, "sharing", [&] { return sharing(); }); !ok) return ok;
    if (auto ok = step(provenance, "constant_modules", [&] { return constant_modules(); }); !ok) return ok;
    if (!options_.extras) return {};
    if (auto ok = step(provenance, "code_sharing", [&] { return code_sharing(); }); !ok) return ok;
    if (auto ok = step(provenance, "instances", [&] { return instances(); }); !ok) return ok;
    if (auto ok = step(provenance, "carve_outs", [&] { return carve_outs(); }); !ok) return ok;
    return step(provenance, "places", [&] {
      return find_places(session_, constant_l1_ ? &*constant_l1_ : nullptr, constant_l1_5_ ? &*constant_l1_5_ : nullptr,
                         l2_ ? &*l2_ : nullptr, places_, provenance);
    });
  }

  // An id is measured if it is asked for, or if one that is asked for builds on it.
  bool needed(std::string_view id) const {
    if (wanted(id)) return true;
    if (id == "constant_l1") return wanted("constant_l1_5");
    if (id == "l2") return wanted("constant_l1_5");
    if (id == "device_memory") return wanted("l2");
    return false;
  }

  Expected<void> keep(Expected<SmCache> cache, std::optional<SmCache>& into) {
    if (!cache) return tl::unexpected<Error>(cache.error());
    into = std::move(*cache);
    return {};
  }
  Expected<void> keep(Expected<Memory> memory) {
    if (!memory) return tl::unexpected<Error>(memory.error());
    memories_.push_back(std::move(*memory));
    return {};
  }

  Expected<void> constant_l1() { return keep(measure_sm_cache(session_, constant_path), constant_l1_); }
  Expected<void> l1() { return keep(measure_sm_cache(session_, l1_path), l1_); }
  Expected<void> texture() {
    if (session_.info().texture_elements == 0)
      return keep(absent(texture_path, "this GPU has no linear textures"), texture_);
    return keep(measure_sm_cache(session_, texture_path), texture_);
  }
  Expected<void> read_only() {
    if (!session_.info().has_read_only)
      return keep(absent(read_only_path, "read-only loads need compute capability 3.5"), read_only_);
    return keep(measure_sm_cache(session_, read_only_path), read_only_);
  }
  Expected<void> l2() {
    auto l2 = measure_l2(session_);
    if (!l2) return tl::unexpected<Error>(l2.error());
    l2_ = std::move(*l2);
    return {};
  }
  Expected<void> constant_l1_5() {
    if (!constant_l1_ || !l2_) return {};
    auto cache = measure_constant_l1_5(session_, *constant_l1_, *l2_);
    if (!cache) return tl::unexpected<Error>(cache.error());
    constant_l1_5_ = std::move(*cache);
    return {};
  }
  Expected<void> shared() { return keep(measure_shared(session_)); }
  Expected<void> device_memory() {
    return keep(measure_device_memory(session_, l2_ ? l2_->capacity_bytes : session_.info().l2_bytes));
  }

  // The caches of an SM, as far as they were measured.
  std::vector<Measured> sm_caches() {
    std::vector<Measured> present;
    for (const auto& [path, cache] : {std::pair{l1_path, &l1_}, std::pair{texture_path, &texture_},
                                      std::pair{read_only_path, &read_only_}, std::pair{constant_path, &constant_l1_}})
      if (*cache && (*cache)->present && (*cache)->capacity_bytes != 0) present.push_back({path, &**cache});
    return present;
  }

  Expected<void> settle_penalties() {
    const Estimate* near = l2_ ? l2_->memory.find("latency") : nullptr;
    const Estimate* far = l2_ ? l2_->memory.find("far_latency") : nullptr;
    if (near == nullptr || far == nullptr || !near->has_value() || !far->has_value()) return {};
    for (const auto& [path, cache] : {std::pair{l1_path, &l1_}, std::pair{texture_path, &texture_},
                                      std::pair{read_only_path, &read_only_}, std::pair{constant_path, &constant_l1_}})
      if (*cache)
        if (auto ok = settle_miss_penalty(session_, path, **cache, *near->value, *far->value); !ok) return ok;
    return {};
  }

  Expected<void> sharing() { return find_sharing(session_, sm_caches(), sharing_checks_); }
  Expected<void> instances() { return find_instances(session_, sm_caches()); }
  Expected<void> carve_outs() {
    if (!l1_ || !l1_->present) return {};
    auto table = measure_carve_outs(session_, l1_path, *l1_);
    if (!table) return tl::unexpected<Error>(table.error());
    l1_->memory.carve_outs = std::move(*table);
    if (l1_->memory.carve_outs.empty() || !read_only_ || read_only_->memory.physical_cache != "l1") return {};
    auto again = recount_carve_outs(session_, read_only_path, *read_only_, l1_->memory.carve_outs);
    if (!again) return tl::unexpected<Error>(again.error());
    read_only_->memory.carve_outs = std::move(*again);
    return {};
  }

  Expected<void> constant_modules() {
    if (!constant_l1_5_) return {};
    return find_constant_size(session_, *constant_l1_5_);
  }

  Expected<void> code_sharing() {
    if (!constant_l1_5_) return {};
    return find_code_sharing(session_, *constant_l1_5_, sharing_checks_);
  }

  static Expected<SmCache> absent(const CachePath& path, std::string_view why) {
    SmCache cache;
    cache.memory.id = path.id;
    cache.memory.label = path.label;
    cache.memory.physical_cache = path.id;
    for (const char* name : {"size", "line_size", "sector_size"})
      cache.memory.attributes[name] = not_supported("B", why);
    for (const char* name : {"latency", "miss_penalty"}) cache.memory.attributes[name] = not_supported("cycles", why);
    return cache;
  }

  void collect(Topology& t) {
    for (auto* cache : {&l1_, &texture_, &read_only_, &constant_l1_})
      if (*cache) memories_.push_back((*cache)->memory);
    if (constant_l1_5_) memories_.push_back(constant_l1_5_->memory);
    if (l2_) memories_.push_back(l2_->memory);
    t.sm_places = places_;
    for (const SharingCheck& c : sharing_checks_)
      if (wanted(c.first) && (c.second == "instruction" || wanted(c.second))) t.sharing.push_back(c);
    for (const std::string_view id : ids) {
      const auto it = std::find_if(memories_.begin(), memories_.end(), [&](const Memory& m) { return m.id == id; });
      if (it != memories_.end() && wanted(id)) t.memories.push_back(*it);
    }
    const bool has_l2 = l2_ && l2_->capacity_bytes != 0;
    const auto has = [&](std::string_view id) {
      const Memory* m = t.find(id);
      return m != nullptr && m->find("size") != nullptr && m->find("size")->status != Status::not_supported;
    };
    for (Memory& m : t.memories) {
      if (m.id == "device_memory" || m.id == "shared") continue;
      m.parent = m.id != "l2" && has_l2 ? "l2" : "device_memory";
      if (m.id == "constant_l1" && has("constant_l1_5")) m.parent = "constant_l1_5";
    }
    for (Memory& m : t.memories) keep_measured_identity(m, sharing_checks_);
    add_memory_penalties(t);
  }

  // What an L2 miss costs is known once device memory is.
  void add_memory_penalties(Topology& t) {
    Memory* l2 = t.find("l2");
    const auto memory =
        std::find_if(memories_.begin(), memories_.end(), [](const Memory& m) { return m.id == "device_memory"; });
    if (l2 == nullptr || memory == memories_.end()) return;
    const Estimate* own = l2->find("latency");
    const Estimate* next = memory->find("latency");
    if (own == nullptr || next == nullptr || !is_usable(*own) || !is_usable(*next)) return;
    l2->attributes["miss_penalty"] = measured(*next->value - *own->value, "cycles", "difference", next->samples);
  }

  Session session_;
  const DiscoverOptions& options_;
  std::size_t done_ = 0;
  std::optional<SmCache> l1_, texture_, read_only_, constant_l1_;
  std::optional<ConstantL15> constant_l1_5_;
  std::optional<L2> l2_;
  std::vector<SmPlace> places_;
  std::vector<SharingCheck> sharing_checks_;
  std::vector<Memory> memories_;
};

}  // namespace

std::span<const std::string_view> memory_ids() {
  return ids;
}

Expected<Topology> discover(device::Device& device, const DiscoverOptions& options) {
  for (const std::string& id : options.only)
    if (std::find(ids.begin(), ids.end(), id) == ids.end())
      return fail(Error::Kind::bad_input, fmt::format("unknown memory '{}'; known are {}", id, fmt::join(ids, ", ")));
  return Discovery(device, options).run();
}

}  // namespace gputopo::experiments
