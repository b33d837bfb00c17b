#include "device/cuda/launch.hpp"

#include <algorithm>
#include <array>

#include "device/cuda/control.hpp"
#include "device/cuda/images.hpp"

namespace gputopo::device::cuda {
namespace {

using kernels::Result;
using kernels::Task;

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

namespace {

// What the launch's kernel writes starts with room for gaps, which is read only when there are some.
constexpr std::size_t gap_bytes = sizeof(kernels::Gap) * kernels::gap_entries;

// Device and host memory of at least so many bytes. Launches of many short records and of few long ones take turns, so
// neither is made anew because of the other.
Expected<void> fit(const Driver& driver, Allocation& device, HostAllocation& host, std::size_t device_bytes,
                   std::size_t host_bytes, const char* what) {
  if (device.bytes() < device_bytes) {
    device = Allocation();
    auto memory = Allocation::make(driver, 2 * device_bytes, what);
    if (!memory) return tl::unexpected<Error>(memory.error());
    device = std::move(*memory);
  }
  if (host.bytes() < host_bytes) {
    host = HostAllocation();
    auto mirror = HostAllocation::make(driver, 2 * host_bytes);
    if (!mirror) return tl::unexpected<Error>(mirror.error());
    host = std::move(*mirror);
  }
  return {};
}

}  // namespace

Expected<LaunchAddresses> Launcher::prepare(const program::Batch& batch, const PlannedLaunch& launch,
                                            const ResultSlots& slots) {
  const ControlLayout layout(launch.modules * info_.gpu.sm_count, launch.phases.size());
  if (auto ok = fit(driver_, control_, staging_, layout.bytes, layout.bytes, "control data"); !ok)
    return tl::unexpected<Error>(ok.error());
  const CUdeviceptr before = records_.address();
  const std::size_t bytes = gap_bytes + slots.record_bytes();
  if (auto ok = fit(driver_, records_, records_host_, bytes, slots.host_bytes(), "results"); !ok)
    return tl::unexpected<Error>(ok.error());
  // Once, not before every launch as the results: clearing runs a kernel, whose own constants the counters count.
  if (records_.address() != before)
    if (auto ok = check(driver_.cuMemsetD32Async(records_.address(), 0, records_.bytes() / 4, stream_),
                        "clearing results failed");
        !ok)
      return tl::unexpected<Error>(ok.error());
  auto buffers = buffers_->prepare(needs_of(batch, launch, info_));
  if (!buffers) return tl::unexpected<Error>(buffers.error());
  LaunchAddresses addresses;
  addresses.buffers = std::move(*buffers);
  addresses.control = control_.address();
  addresses.gaps = records_.address();
  addresses.state = addresses.gaps + gap_bytes;
  addresses.results = addresses.state + sizeof(kernels::LaunchState);
  return addresses;
}

// Reads what was listed of the gaps: nothing on a quiet GPU, which costs no copy.
Expected<LaunchRecord> Launcher::fetch_gaps(const LaunchAddresses& addresses) {
  LaunchRecord record;
  record.state = static_cast<const kernels::LaunchState*>(records_host_.data());
  record.gaps.resize(std::min(record.state->gap_count, kernels::gap_entries));
  if (record.gaps.empty()) return record;
  if (auto ok = check(driver_.cuMemcpyDtoHAsync(record.gaps.data(), addresses.gaps,
                                                record.gaps.size() * sizeof(kernels::Gap), stream_),
                      "reading the timer's gaps failed");
      !ok)
    return tl::unexpected<Error>(ok.error());
  if (auto ok = check(driver_.cuStreamSynchronize(stream_), "reading the timer's gaps failed"); !ok)
    return tl::unexpected<Error>(ok.error());
  return record;
}

Expected<std::vector<std::size_t>> Launcher::run(const program::Batch& batch, const PlannedLaunch& launch,
                                                 std::vector<program::ProgramTrace>& traces) {
  if (auto ok = cuda::check(batch, launch, info_); !ok) return tl::unexpected<Error>(ok.error());
  const ResultSlots slots = assign_results(batch, launch);
  auto addresses = prepare(batch, launch, slots);
  if (!addresses) return tl::unexpected<Error>(addresses.error());
  if (auto ok = lay_chases(batch, launch, addresses->buffers); !ok) return tl::unexpected<Error>(ok.error());
  const std::vector<Task> tasks = make_tasks(batch, launch, info_, slots, *addresses);
  if (auto ok = submit(batch, launch, tasks, *addresses, slots); !ok) return tl::unexpected<Error>(ok.error());
  auto record = fetch_gaps(*addresses);
  if (!record) return tl::unexpected<Error>(record.error());
  for (const std::size_t p : launch.programs)
    if (const auto asked = program::asked_buffer(batch[p])) traces[p].address = addresses->buffers.at(*asked).address;
  return read_results(batch, launch, slots, *record, traces);
}

}  // namespace gputopo::device::cuda
