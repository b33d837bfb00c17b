#include "device/cuda/work_launcher.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "device/cuda/stream_kernels.hpp"

namespace gputopo::device::cuda {
namespace {

using kernels::StreamBlock;
using kernels::WorkArguments;
using program::Workload;

constexpr std::uint64_t workload_granule = std::uint64_t{2} << 20;

// Where things lie in the words' allocation, bytes.
struct Places {
  explicit Places(const Workload& w)
      : output((input + 4 * w.input.size() + 255) / 256 * 256),
        blocks((output + 4 * std::size_t{w.output_words} + 255) / 256 * 256),
        end(blocks + (w.timed ? w.blocks * sizeof(StreamBlock) : 0)) {}
  static constexpr std::size_t input = 256;
  std::size_t output, blocks, end;
};

}  // namespace

WorkLauncher::~WorkLauncher() {
  if (usual_fetch_) driver_.cuCtxSetLimit(CU_LIMIT_MAX_L2_FETCH_GRANULARITY, *usual_fetch_);
  if (stream_ != nullptr) driver_.cuStreamDestroy(stream_);
}

Expected<void> WorkLauncher::check(CUresult code, const char* what) const {
  if (code == CUDA_SUCCESS) return {};
  return tl::unexpected<Error>(driver_.error(code, what));
}

Expected<void> WorkLauncher::start() {
  if (stream_ == nullptr)
    if (auto ok = check(driver_.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "creating a stream failed"); !ok)
      return ok;
  return module_.is_loaded() ? Expected<void>{} : module_.load(work_image(), "the workloads' kernels");
}

// A limit of this process's context, and no setting of the card.
Expected<void> WorkLauncher::fetch_by(std::size_t bytes) {
  if (bytes == 0 && !usual_fetch_) return {};
  std::size_t now = 0;
  if (auto ok = check(driver_.cuCtxGetLimit(&now, CU_LIMIT_MAX_L2_FETCH_GRANULARITY), "asking for a limit failed"); !ok)
    return ok;
  if (!usual_fetch_) usual_fetch_ = now;
  const std::size_t wanted = bytes != 0 ? bytes : *usual_fetch_;
  if (now == wanted) return {};
  if (auto ok = check(driver_.cuCtxSetLimit(CU_LIMIT_MAX_L2_FETCH_GRANULARITY, wanted), "setting a limit failed"); !ok)
    return ok;
  driver_.cuCtxGetLimit(&now, CU_LIMIT_MAX_L2_FETCH_GRANULARITY);
  if (now == wanted) return {};
  return fail(Error::Kind::unavailable,
              fmt::format("this GPU's L2 doesn't fetch {} bytes at once when asked to; leave that out", wanted));
}

Expected<void> WorkLauncher::grow(Allocation& memory, std::uint64_t bytes) {
  if (memory.bytes() >= bytes) return {};
  memory = Allocation();  // frees first: old and new together might not fit
  auto made = Allocation::make(driver_, (bytes + workload_granule - 1) / workload_granule * workload_granule,
                               "a workload's buffer");
  if (!made) return tl::unexpected<Error>(made.error());
  memory = std::move(*made);
  return check(driver_.cuMemsetD32Async(memory.address(), 0, memory.bytes() / 4, stream_), "clearing a buffer failed");
}

Expected<WorkArguments> WorkLauncher::prepare(const Workload& w) {
  WorkArguments a{};
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (w.buffer_bytes[i] == 0) continue;
    if (auto ok = grow(buffers_[i], w.buffer_bytes[i]); !ok) return tl::unexpected<Error>(ok.error());
    a.buffers[i] = buffers_[i].address();
  }
  const Places at(w);
  if (auto ok = grow(words_, at.end); !ok) return tl::unexpected<Error>(ok.error());
  if (host_.bytes() < at.end) {
    host_ = HostAllocation();
    auto made = HostAllocation::make(driver_, words_.bytes());
    if (!made) return tl::unexpected<Error>(made.error());
    host_ = std::move(*made);
  }
  if (!w.input.empty()) {
    auto* input = static_cast<std::byte*>(host_.data()) + at.input;
    std::memcpy(input, w.input.data(), 4 * w.input.size());
    if (auto ok = check(driver_.cuMemcpyHtoDAsync(words_.address() + at.input, input, 4 * w.input.size(), stream_),
                        "sending a workload's words failed");
        !ok)
      return tl::unexpected<Error>(ok.error());
  }
  // Device addresses are numbers to the driver and pointers to the kernel.
  // NOLINTBEGIN(performance-no-int-to-ptr)
  a.sink = reinterpret_cast<std::uint32_t*>(words_.address());
  a.input = reinterpret_cast<const std::uint32_t*>(words_.address() + at.input);
  a.output = reinterpret_cast<std::uint32_t*>(words_.address() + at.output);
  if (w.timed) a.blocks = reinterpret_cast<StreamBlock*>(words_.address() + at.blocks);
  // NOLINTEND(performance-no-int-to-ptr)
  std::copy(w.numbers.begin(), w.numbers.end(), a.n);
  return a;
}

Expected<void> WorkLauncher::launch(CUfunction kernel, const Workload& w, WorkArguments arguments) {
  const std::array<std::pair<CUfunction_attribute, int>, 2> asked{
      {{CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(w.shared_bytes)},
       {CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1}}};
  for (const auto& [attribute, value] : asked) {
    const bool is_about_clusters = attribute == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
    if (is_about_clusters ? !w.kernel.starts_with("cluster") : value == 0) continue;
    if (auto ok = check(driver_.cuFuncSetAttribute(kernel, attribute, value), "preparing a kernel failed"); !ok)
      return ok;
  }
  std::array<void*, 1> parameters{&arguments};
  return check(driver_.cuLaunchKernel(kernel, w.blocks, 1, 1, w.threads, 1, 1, static_cast<unsigned>(w.shared_bytes),
                                      stream_, parameters.data(), nullptr),
               "launching a workload failed");
}

Expected<program::WorkloadTrace> WorkLauncher::collect(CUfunction kernel, const Workload& w) {
  const Places at(w);
  auto* const host = static_cast<std::byte*>(host_.data());
  if (at.end > at.output)
    if (auto ok = check(
            driver_.cuMemcpyDtoHAsync(host + at.output, words_.address() + at.output, at.end - at.output, stream_),
            "reading a workload's words failed");
        !ok)
      return tl::unexpected<Error>(ok.error());
  if (auto ok = check(driver_.cuStreamSynchronize(stream_), "a workload's kernel failed"); !ok)
    return tl::unexpected<Error>(ok.error());
  program::WorkloadTrace trace;
  if (w.timed) {
    const BlockTimes times = block_times(reinterpret_cast<const StreamBlock*>(host + at.blocks), w.blocks);
    trace.cycles = times.cycles;
    trace.ns = times.ns;
    trace.sms = times.sms;
  }
  int local = 0, registers = 0;
  driver_.cuFuncGetAttribute(&local, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, kernel);
  driver_.cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel);
  trace.local_bytes = static_cast<std::uint32_t>(local);
  trace.registers = static_cast<std::uint32_t>(registers);
  trace.output.resize(w.output_words);
  std::memcpy(trace.output.data(), host + at.output, 4 * trace.output.size());
  return trace;
}

Expected<program::WorkloadTrace> WorkLauncher::run(const Workload& w) {
  std::uint64_t bytes = 0;
  for (const std::uint64_t of : w.buffer_bytes) bytes += of;
  if (bytes > info_.largest_buffer_bytes || w.shared_bytes > info_.shared_bytes_per_block)
    return fail(Error::Kind::unavailable,
                fmt::format("workload '{}': this GPU has no room for it; use less memory", w.label));
  if (auto ok = start(); !ok) return tl::unexpected<Error>(ok.error());
  auto kernel = module_.function("work_" + w.kernel);
  if (!kernel) return tl::unexpected<Error>(kernel.error());
  if (auto ok = fetch_by(w.fetch_bytes); !ok) return tl::unexpected<Error>(ok.error());
  auto arguments = prepare(w);
  if (!arguments) return tl::unexpected<Error>(arguments.error());
  if (auto ok = launch(*kernel, w, *arguments); !ok) return tl::unexpected<Error>(ok.error());
  return collect(*kernel, w);
}

}  // namespace gputopo::device::cuda
