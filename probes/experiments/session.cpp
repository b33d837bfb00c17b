#include "experiments/session.hpp"

#include <algorithm>

namespace gputopo::experiments {

change_point::Options Session::change_point_options() const {
  change_point::Options o;
  o.method = options_.method == Method::thesis ? change_point::Options::Method::thesis
                                               : change_point::Options::Method::standard;
  o.seed = options_.seed;
  return o;
}

Expected<std::vector<program::ProgramTrace>> Session::run(const program::Batch& batch) {
  if (options_.stop != nullptr && options_.stop->load())
    return fail(Error::Kind::interrupted, "interrupted before the measurement was complete; nothing was written");
  auto traces = device_.run(batch);
  if (traces)
    for (const auto& trace : *traces)
      for (const auto& phase : trace.phases) loads_ += phase.loads;
  return traces;
}

void Session::report(double done, std::string_view what) const {
  if (options_.progress) options_.progress(done, what);
}

std::uint64_t Session::fresh_region(Slot slot, std::uint64_t bytes) {
  constexpr std::uint64_t alignment = 64 << 10;  // no line, sector or prefetch reaches from one region into the next
  if (fresh_.size() <= slot) fresh_.resize(slot + 1, sweep_limit_bytes);
  const std::uint64_t at = fresh_[slot];
  fresh_[slot] += (bytes + 2 * alignment - 1) / alignment * alignment;
  // Regions come round again only after more than any SM-private cache holds has been walked in between.
  if (fresh_[slot] + alignment > slot_bytes) fresh_[slot] = sweep_limit_bytes;
  return at;
}

program::Program make_program(std::string label, const device::DeviceInfo& info, Slot slot) {
  program::Program p;
  p.label = std::move(label);
  p.buffers = {{program::Space::global, slot_bytes, 0}};
  if (slot >= slot_texture) p.buffers.push_back({program::Space::global, slot_bytes, 0});
  if (slot >= slot_flush) p.buffers.push_back({program::Space::global, slot_bytes, 0});
  if (slot >= slot_constant) p.buffers.push_back({program::Space::constant, info.constant_bytes_per_module, 0});
  return p;
}

program::Walk make_walk(const CachePath& path, std::uint64_t footprint_bytes, std::uint64_t stride_bytes,
                        std::uint32_t laps) {
  program::Walk walk;
  walk.buffer = path.slot;
  walk.path = path.path;
  walk.footprint_bytes = footprint_bytes;
  walk.stride_bytes = stride_bytes;
  walk.laps = laps;
  return walk;
}

program::Walk recorded(program::Walk walk, program::Record record, std::uint32_t laps) {
  walk.record = record;
  walk.laps = laps;
  walk.lanes = 1;
  return walk;
}

}  // namespace gputopo::experiments
