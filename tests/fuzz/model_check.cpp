#include "model_check.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "device/sim/model.hpp"
#include "device/sim/sim_device.hpp"
#include "one_line.hpp"
#include "topology/json.hpp"

namespace gputopo::fuzz {
namespace {

using program::Path;

constexpr std::uint64_t small_bytes = 4096;

template <class T>
void require_answer(const Expected<T>& answer) {
  if (!answer) require_one_line(answer.error().message);
}

// What every path has, walked twice.
program::Program walk(Path path, const device::DeviceInfo& info) {
  program::Walk w;
  w.path = path;
  w.stride_bytes = path == Path::instruction ? std::max<std::uint64_t>(4, info.code_block_bytes) : 32;
  w.footprint_bytes = path == Path::instruction ? 4 * w.stride_bytes : small_bytes;
  w.laps = 2;
  w.record = program::Record::histogram;
  program::Buffer buffer{program::Space::global, w.footprint_bytes};
  if (path == Path::constant) buffer.space = program::Space::constant;
  if (path == Path::shared) buffer.space = program::Space::shared;
  if (path == Path::instruction) buffer.space = program::Space::code;
  program::Program p;
  p.buffers = {buffer};
  p.phases = {program::Execute{0, small_bytes, 1, true}, w};
  if (path == Path::instruction || !info.has_execute) p.phases = {w};
  return p;
}

// Every third word stored over what was loaded, and half of it looked at afterwards.
program::Program stores() {
  program::Walk load;
  load.stride_bytes = 32;
  load.footprint_bytes = small_bytes / 2;
  program::Walk store = load;
  store.path = Path::global_store;
  store.stride_bytes = 12;
  store.footprint_bytes = small_bytes;
  program::Walk look = store;
  look.path = Path::global_cached;
  look.stride_bytes = 4;
  look.record = program::Record::histogram;
  program::Program p;
  p.buffers = {{program::Space::global, small_bytes, 0}};
  p.phases = {load, store, look};
  return p;
}

program::Stream stream(Path path, program::Operation operation, std::uint32_t sm_count) {
  program::Stream s;
  s.path = path;
  s.operation = operation;
  s.region = path == Path::shared ? program::Region::block : program::Region::grid;
  s.blocks = sm_count;
  if (path == Path::constant) s.arrangement = program::Arrangement::broadcast;
  const bool adds = operation == program::Operation::add || operation == program::Operation::fetch_add;
  if (adds) s.arrangement = program::Arrangement::fixed, s.lane_stride_bytes = 4, s.footprint_bytes = small_bytes;
  return adds ? s : program::fitted(s, small_bytes);
}

// A kernel as a benchmark asks for it: four numbers, words to read and to write.
program::Workload workload(const char* kernel, std::array<std::uint64_t, 4> numbers, std::uint32_t output_words,
                           std::size_t input_words = 0) {
  program::Workload w;
  w.kernel = kernel;
  w.numbers = numbers;
  w.output_words = output_words;
  w.input.assign(input_words, 5);
  return w;
}

void run_some_of_each(sim::Model model) {
  const auto device = sim::make_device(std::move(model));
  const device::DeviceInfo& info = device->info();
  for (std::size_t path = 0; path < sim::path_count; ++path)
    require_answer(device->run({walk(static_cast<Path>(path), info)}));
  require_answer(device->run({stores()}));
  using program::Operation;
  for (const Path path : {Path::global_cached, Path::global_l2_only, Path::texture, Path::constant, Path::shared})
    for (const Operation operation :
         {Operation::read, Operation::write, Operation::copy, Operation::add, Operation::fetch_add})
      require_answer(device->run_stream(stream(path, operation, info.gpu.sm_count)));
  for (const auto& w :
       {workload("chain_float_add_4", {8}, 1), workload("barriers", {8}, 0), workload("paths", {8}, 0, 32),
        workload("clocks", {}, 64), workload("hold_64", {8}, 0), workload("cluster_latency_8", {8}, 8 + 64),
        workload("cluster_read_8", {1, 64, 8}, 0), workload("l2_times", {4}, 4 * info.gpu.sm_count),
        workload("l2_homes", {4}, 16), workload("fill", {64}, 0), workload("histogram_global", {64}, 0),
        workload("histogram_copies", {64}, 0), workload("histogram_counts", {}, 1), workload("product", {8, 1024}, 0),
        workload("sweep", {1024}, 0)})
    require_answer(device->run_workload(w));
}

}  // namespace

void check_model(std::string_view text) {
  auto model = sim::parse_model(text, "fuzzed");
  if (!model) return require_one_line(model.error().message);
  Topology truth = sim::truth(*model);
  sim::add_organisation(*model, truth);
  sim::add_writes(*model, truth);
  sim::add_translation(*model, truth);
  sim::add_memory_patterns(*model, truth);
  sim::add_instructions(*model, truth);
  sim::add_latency_spans(*model, truth);
  static_cast<void>(sim::remarks(*model));
  const std::string written = to_json_text(truth);
  const auto read = read_topology(written);
  require(read && read->has_checksum && to_json_text(read->topology) == written);
  run_some_of_each(std::move(*model));
}

}  // namespace gputopo::fuzz
