#include "device/cuda/launch.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "device/cuda/images.hpp"
#include "device/cuda/results.hpp"
#include "program/order.hpp"

namespace gputopo::device::cuda {
namespace {

using kernels::Result;
using kernels::Task;
using program::Execute;
using program::Record;
using program::Walk;

bool fits_32_bits(const Walk& walk) {
  constexpr std::uint64_t limit = std::numeric_limits<std::uint32_t>::max();
  return program::positions(walk) < limit && program::lap_loads(walk) * walk.laps < limit &&
         walk.stride_bytes / 4 < limit && (walk.first_byte + walk.footprint_bytes) / 4 < limit;
}

std::uint64_t shared_bytes_of(const program::Program& p) {
  std::uint64_t bytes = 0;
  for (const auto& buffer : p.buffers)
    if (buffer.space == program::Space::shared) bytes += (buffer.size_bytes + 15) / 16 * 16;
  return bytes;
}

}  // namespace

Expected<void> Launcher::check(CUresult code, const char* what) const {
  if (code == CUDA_SUCCESS) return {};
  return tl::unexpected<Error>(driver_.error(code, what));
}

Expected<std::unique_ptr<Launcher>> Launcher::make(const Driver& driver, const DeviceInfo& info) {
  std::unique_ptr<Launcher> launcher(new Launcher(driver, info));
  if (auto ok = launcher->start(); !ok) return tl::unexpected<Error>(ok.error());
  return launcher;
}

Expected<void> Launcher::start() {
  if (auto ok = check(driver_.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "creating a stream failed"); !ok)
    return ok;
  buffers_ = std::make_unique<Buffers>(driver_, stream_, info_.texture_elements);
  auto kernel = variant(Kernel::chase);
  if (!kernel) return tl::unexpected<Error>(kernel.error());
  return check(driver_.cuModuleGetFunction(&fill_, (*kernel)->module, "fill"), "the kernel image lacks 'fill'");
}

Launcher::~Launcher() {
  buffers_.reset();
  for (const auto& [key, v] : variants_)
    if (v.module != nullptr) driver_.cuModuleUnload(v.module);
  for (CUstream side : side_streams_) driver_.cuStreamDestroy(side);
  if (stream_ != nullptr) driver_.cuStreamDestroy(stream_);
}

Expected<const Launcher::Variant*> Launcher::variant(Kernel kernel, std::uint32_t module) {
  Variant& v = variants_[{kernel, module}];
  if (v.module != nullptr) return &v;
  const Image image = image_of(kernel);
  if (auto ok = load(v, image); !ok) return tl::unexpected<Error>(ok.error());
  if (auto ok =
          check(driver_.cuModuleGetFunction(&v.function, v.module, image.function), "the kernel image is incomplete");
      !ok)
    return tl::unexpected<Error>(ok.error());
  std::size_t bytes = 0;
  if (auto ok = check(driver_.cuModuleGetGlobal(&v.bank, &bytes, v.module, "_ZN7gputopo7kernels4bankE"),
                      "the kernel image is incomplete");
      !ok)
    return tl::unexpected<Error>(ok.error());
  if (auto ok = load_now(v); !ok) return tl::unexpected<Error>(ok.error());
  return &v;
}

Expected<void> Launcher::load(Variant& kernel, const Image& image) {
  if (image.machine_code != nullptr) {
    const CUresult code = driver_.cuModuleLoadData(&kernel.module, image.machine_code);
    // There is none for this GPU: nvcc didn't know it yet, or any more.
    if (code != CUDA_ERROR_NO_BINARY_FOR_GPU) return check(code, "this GPU and driver can't load the kernels");
  }
  assembled_ = true;
  return check(driver_.cuModuleLoadData(&kernel.module, image.ptx), "this GPU's driver can't assemble the kernels");
}

// The driver loads a kernel's code at its first launch and waits for the GPU to be idle then, which it never is while
// another module's kernel waits for this one. A launch without queues, which ends at once, gets that over with.
Expected<void> Launcher::load_now(const Variant& kernel) {
  kernels::LaunchArguments nothing{};
  std::array<void*, 1> parameters{&nothing};
  return check(driver_.cuLaunchKernel(kernel.function, 1, 1, 1, kernels::warp_threads, 1, 1,
                                      kernels::reserved_shared_bytes, stream_, parameters.data(), nullptr),
               "launching the kernel failed");
}

Expected<void> Launcher::lay_constant_chase(const Walk& walk, const Variant& kernel) {
  std::vector<std::uint32_t> words(info_.constant_bytes_per_module / 4, 0);
  const std::uint64_t n = program::positions(walk);
  const std::uint64_t loads = program::lap_loads(walk);
  const auto [first, step] = program::stepping(walk.order, walk.order_seed, n);
  std::uint64_t here = first;
  for (std::uint64_t k = 0; k < loads; ++k) {
    const std::uint64_t next = k + 1 == loads ? first : program::advance(here, step, n);
    words.at((walk.first_byte + here * walk.stride_bytes) / 4) =
        static_cast<std::uint32_t>((walk.first_byte + next * walk.stride_bytes) / 4);
    here = next;
  }
  if (auto ok = check(driver_.cuMemcpyHtoDAsync(kernel.bank, words.data(), words.size() * 4, stream_),
                      "filling the constant bank failed");
      !ok)
    return ok;
  return check(driver_.cuStreamSynchronize(stream_), "filling the constant bank failed");
}

Expected<void> Launcher::lay_pointer_chases(const program::Batch& batch, const PlannedLaunch& launch) {
  std::set<std::array<std::uint64_t, 7>> laid;  // programs of one launch mostly share theirs
  for (const PlannedPhase& planned : launch.phases) {
    const auto* walk = std::get_if<Walk>(&batch[planned.program].phases[planned.phase]);
    if (walk == nullptr || walk->record != Record::lap_time || walk->path == program::Path::shared) continue;
    if (!laid.insert({walk->buffer, walk->first_byte, walk->footprint_bytes, walk->stride_bytes,
                      static_cast<std::uint64_t>(walk->order), walk->order_seed, walk->loads_per_lap})
             .second)
      continue;
    if (walk->path == program::Path::constant) {
      auto kernel = variant(launch.kernel, planned.module);
      if (!kernel) return tl::unexpected<Error>(kernel.error());
      if (auto ok = lay_constant_chase(*walk, **kernel); !ok) return ok;
      continue;
    }
    auto memory = buffers_->global(walk->buffer, batch[planned.program].buffers[walk->buffer].size_bytes);
    if (!memory) return tl::unexpected<Error>(memory.error());
    CUdeviceptr words = *memory;
    auto first_word = static_cast<std::uint32_t>(walk->first_byte / 4);
    auto positions = static_cast<std::uint32_t>(program::positions(*walk));
    auto stride_words = static_cast<std::uint32_t>(walk->stride_bytes / 4);
    const auto stepping = program::stepping(walk->order, walk->order_seed, positions);
    auto first = static_cast<std::uint32_t>(stepping.first);
    auto step = static_cast<std::uint32_t>(stepping.step);
    auto loads = static_cast<std::uint32_t>(program::lap_loads(*walk));
    std::array<void*, 7> arguments{&words, &first_word, &positions, &stride_words, &first, &step, &loads};
    const unsigned blocks = std::clamp(loads / 256U, 1U, 1024U);
    if (auto ok = check(driver_.cuLaunchKernel(fill_, blocks, 1, 1, 256, 1, 1, 0, stream_, arguments.data(), nullptr),
                        "laying a pointer chase failed");
        !ok)
      return ok;
  }
  return {};
}

Expected<void> Launcher::set_up(Task& task, const program::Program& program, const Walk& walk, CUtexObject& texture) {
  if (!fits_32_bits(walk))
    return fail(Error::Kind::bad_input,
                fmt::format("program '{}' walks more loads than one phase can count", program.label));
  const program::Buffer& buffer = program.buffers[walk.buffer];
  const auto stepping = program::stepping(walk.order, walk.order_seed, program::positions(walk));
  task.kind = kernels::task_walk;
  task.path = static_cast<std::uint32_t>(walk.path);
  task.record = static_cast<std::uint32_t>(walk.record);
  task.lanes = std::min(walk.lanes, kernels::block_threads);
  task.laps = walk.laps;
  task.loads = static_cast<std::uint32_t>(program::lap_loads(walk));
  task.positions = static_cast<std::uint32_t>(program::positions(walk));
  task.stride_words = static_cast<std::uint32_t>(walk.stride_bytes / 4);
  task.first_position = static_cast<std::uint32_t>(stepping.first);
  task.step = static_cast<std::uint32_t>(stepping.step);
  task.first_byte = walk.first_byte;
  if (walk.record == Record::latencies && task.loads > kernels::latency_entries)
    return fail(Error::Kind::bad_input, fmt::format("program '{}' records {} latencies, at most {} fit", program.label,
                                                    task.loads, kernels::latency_entries));
  switch (buffer.space) {
    case program::Space::constant:
      if (buffer.module >= info_.constant_modules || buffer.size_bytes > info_.constant_bytes_per_module)
        return fail(Error::Kind::bad_input,
                    fmt::format("program '{}' wants a constant buffer that isn't to be had", program.label));
      break;
    case program::Space::shared:
      for (std::uint32_t i = 0; i < walk.buffer; ++i)
        if (program.buffers[i].space == program::Space::shared)
          task.buffer += (program.buffers[i].size_bytes + 15) / 16 * 16;
      break;
    case program::Space::global:
      if (walk.path == program::Path::texture) {
        if ((walk.first_byte + walk.footprint_bytes) / 4 > info_.texture_elements)
          return fail(Error::Kind::bad_input,
                      fmt::format("program '{}' walks past the largest linear texture", program.label));
        auto made = buffers_->texture(walk.buffer, buffer.size_bytes);
        if (!made) return tl::unexpected<Error>(made.error());
        texture = *made;
      } else {
        auto memory = buffers_->global(walk.buffer, buffer.size_bytes);
        if (!memory) return tl::unexpected<Error>(memory.error());
        task.buffer = *memory;
      }
      break;
  }
  return {};
}

Expected<std::vector<Task>> Launcher::make_tasks(const program::Batch& batch, const PlannedLaunch& launch,
                                                 std::vector<std::size_t>& result_of, CUtexObject& texture) {
  constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  std::vector<Task> tasks(launch.phases.size());
  result_of.assign(launch.phases.size(), none);
  std::size_t results = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const PlannedPhase& planned = launch.phases[i];
    const program::Program& program = batch[planned.program];
    const program::Phase& phase = program.phases[planned.phase];
    Task& task = tasks[i];
    task = Task{};
    task.wait_value = planned.wait_value;
    task.post_value = planned.post_value;
    bool recorded = true;
    if (const auto* walk = std::get_if<Walk>(&phase)) {
      task.warp = program.agents[walk->agent].warp;
      recorded = walk->record != Record::nothing;
      if (auto ok = set_up(task, program, *walk, texture); !ok) return tl::unexpected<Error>(ok.error());
    } else {
      const auto& execute = std::get<Execute>(phase);
      const std::uint64_t units = (execute.code_bytes + info_.execute_unit_bytes - 1) / info_.execute_unit_bytes;
      if (units > kernels::code_units)
        return fail(Error::Kind::bad_input, fmt::format("program '{}' executes {} bytes, at most {} can be had",
                                                        program.label, execute.code_bytes, info_.execute_limit_bytes));
      task.kind = kernels::task_execute;
      task.warp = program.agents[execute.agent].warp;
      task.units = static_cast<std::uint32_t>(units);
      task.laps = execute.laps;
    }
    // The last phase always reports, so that a program that found no block is noticed.
    if (recorded || planned.phase + 1 == program.phases.size()) result_of[i] = results++;
  }
  return tasks;
}

Expected<std::vector<std::size_t>> Launcher::run(const program::Batch& batch, const PlannedLaunch& launch,
                                                 std::vector<program::ProgramTrace>& traces) {
  if (auto ok = lay_pointer_chases(batch, launch); !ok) return tl::unexpected<Error>(ok.error());
  std::vector<std::size_t> result_of;
  CUtexObject texture = 0;
  auto tasks = make_tasks(batch, launch, result_of, texture);
  if (!tasks) return tl::unexpected<Error>(tasks.error());
  std::size_t results = 0;
  for (const std::size_t r : result_of)
    if (r != std::numeric_limits<std::size_t>::max()) ++results;
  const std::size_t result_bytes = std::max<std::size_t>(1, results) * sizeof(Result);
  if (results_.bytes() < result_bytes) {
    results_ = Allocation();
    results_host_ = HostAllocation();
    auto memory = Allocation::make(driver_, result_bytes, "results");
    if (!memory) return tl::unexpected<Error>(memory.error());
    results_ = std::move(*memory);
    auto host = HostAllocation::make(driver_, result_bytes);
    if (!host) return tl::unexpected<Error>(host.error());
    results_host_ = std::move(*host);
  }
  std::set<std::pair<std::uint32_t, std::uint32_t>> blocks;  // (module, SM)
  std::uint64_t shared_bytes = 0;
  for (std::size_t i = 0; i < tasks->size(); ++i) {
    blocks.insert({launch.phases[i].module, launch.phases[i].sm});
    shared_bytes = std::max(shared_bytes, shared_bytes_of(batch[launch.phases[i].program]));
    if (result_of[i] != std::numeric_limits<std::size_t>::max())
      (*tasks)[i].result = results_.address() + result_of[i] * sizeof(Result);
  }
  if (auto ok = submit(launch, *tasks, texture, shared_bytes, results, static_cast<std::uint32_t>(blocks.size())); !ok)
    return tl::unexpected<Error>(ok.error());
  return read_results(batch, launch, result_of, static_cast<const Result*>(results_host_.data()), traces);
}

}  // namespace gputopo::device::cuda
