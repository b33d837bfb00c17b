#include "device/cuda/stream_launcher.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "device/cuda/stream_kernels.hpp"

namespace gputopo::device::cuda {
namespace {

using kernels::StreamArguments;
using kernels::StreamBlock;
using kernels::StreamCommon;
using program::Stream;

constexpr std::size_t head_bytes = 256;  // what blocks have in common at 0, stamps from 64 on
constexpr std::uint64_t first_stamp = 64;
constexpr std::uint64_t last_stamp = 72;
constexpr std::uint64_t allocation_granule = std::uint64_t{2} << 20;
constexpr std::uint64_t parts_of_memory = 32;  // footprints of about a size have one buffer: a new one is slow at first

bool copies_memory(const Stream& s) {
  return s.operation == program::Operation::copy && s.path != program::Path::shared;
}

}  // namespace

StreamLauncher::~StreamLauncher() {
  if (texture_ != 0) driver_.cuTexObjectDestroy(texture_);
  if (stream_ != nullptr) driver_.cuStreamDestroy(stream_);
}

Expected<void> StreamLauncher::check(CUresult code, const char* what) const {
  if (code == CUDA_SUCCESS) return {};
  return tl::unexpected<Error>(driver_.error(code, what));
}

Expected<void> StreamLauncher::start() {
  if (module_.is_loaded()) return {};
  if (auto ok = check(driver_.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "creating a stream failed"); !ok)
    return ok;
  return module_.load(stream_image(), "the streams' kernels");
}

Expected<void> StreamLauncher::grow(Allocation& memory, std::uint64_t bytes) {
  if (memory.bytes() >= bytes) return {};
  if (texture_ != 0) driver_.cuTexObjectDestroy(texture_);
  texture_ = 0;
  memory = Allocation();  // frees first: old and new together might not fit
  const std::uint64_t granule = std::max(allocation_granule, std::bit_floor(bytes) / parts_of_memory);
  auto made = Allocation::make(driver_, (bytes + granule - 1) / granule * granule, "a stream's buffer");
  if (!made) return tl::unexpected<Error>(made.error());
  memory = std::move(*made);
  return check(driver_.cuMemsetD32Async(memory.address(), 0, memory.bytes() / 4, stream_), "clearing a buffer failed");
}

Expected<void> StreamLauncher::texture_over(std::uint64_t first_byte, std::uint64_t bytes, std::uint32_t access_bytes) {
  if (texture_ != 0) driver_.cuTexObjectDestroy(texture_);
  texture_ = 0;
  CUDA_RESOURCE_DESC resource{};
  resource.resType = CU_RESOURCE_TYPE_LINEAR;
  resource.res.linear.devPtr = from_.address() + first_byte;
  resource.res.linear.format = CU_AD_FORMAT_UNSIGNED_INT32;
  resource.res.linear.numChannels = access_bytes / 4;
  resource.res.linear.sizeInBytes = bytes;
  CUDA_TEXTURE_DESC description{};
  description.flags = CU_TRSF_READ_AS_INTEGER;
  return check(driver_.cuTexObjectCreate(&texture_, &resource, &description, nullptr), "creating a texture failed");
}

Expected<StreamArguments> StreamLauncher::prepare(const Stream& s) {
  const std::uint64_t bytes = program::buffer_bytes(s);
  const bool in_memory = s.path != program::Path::shared && s.path != program::Path::constant;
  if (in_memory)
    if (auto ok = grow(from_, s.first_byte + bytes); !ok) return tl::unexpected<Error>(ok.error());
  if (copies_memory(s))
    if (auto ok = grow(to_, s.first_byte + bytes); !ok) return tl::unexpected<Error>(ok.error());
  if (s.path == program::Path::texture)
    if (auto ok = texture_over(s.first_byte, bytes, s.access_bytes); !ok) return tl::unexpected<Error>(ok.error());
  const std::size_t room = head_bytes + (s.one_shot ? 0 : s.blocks * sizeof(StreamBlock));
  if (times_host_.bytes() < room) {
    auto host = HostAllocation::make(driver_, room);
    if (!host) return tl::unexpected<Error>(host.error());
    times_host_ = std::move(*host);
  }
  if (auto ok = grow(times_, room); !ok) return tl::unexpected<Error>(ok.error());
  StreamArguments a = stream_arguments(s);
  if (in_memory) a.from = from_.address() + s.first_byte;
  a.to = copies_memory(s) ? to_.address() + s.first_byte : a.from;
  a.texture = texture_;
  // Device addresses are numbers to the driver and pointers to the kernel.
  // NOLINTBEGIN(performance-no-int-to-ptr)
  a.common = reinterpret_cast<StreamCommon*>(times_.address());
  if (!s.one_shot) a.blocks = reinterpret_cast<StreamBlock*>(times_.address() + head_bytes);
  // NOLINTEND(performance-no-int-to-ptr)
  return a;
}

Expected<void> StreamLauncher::stamp(std::uint64_t place) {
  auto kernel = module_.function("stream_stamp");
  if (!kernel) return tl::unexpected<Error>(kernel.error());
  CUdeviceptr at = times_.address() + place;
  std::array<void*, 1> parameters{&at};
  return check(driver_.cuLaunchKernel(*kernel, 1, 1, 1, 1, 1, 1, 0, stream_, parameters.data(), nullptr),
               "launching a kernel failed");
}

Expected<void> StreamLauncher::launch(CUfunction kernel, const Stream& s, StreamArguments arguments) {
  const auto dynamic = static_cast<unsigned>(dynamic_shared_bytes(s));
  const std::array<std::pair<CUfunction_attribute, int>, 2> asked{
      {{CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(dynamic)},
       {CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, static_cast<int>(s.carve_out_percent)}}};
  for (const auto& [attribute, value] : asked)
    if (auto ok = check(driver_.cuFuncSetAttribute(kernel, attribute, value), "asking for shared memory failed"); !ok)
      return ok;
  if (s.path == program::Path::global_l2_only) {
    const StreamCommon common = stream_common(s);
    if (auto ok = check(driver_.cuMemcpyHtoDAsync(times_.address(), &common, sizeof common, stream_),
                        "writing what blocks have in common failed");
        !ok)
      return ok;
  }
  std::array<void*, 1> parameters{&arguments};
  const auto once = [&] {
    return driver_.cuLaunchKernel(kernel, s.blocks, 1, 1, s.threads, 1, 1, dynamic, stream_, parameters.data(),
                                  nullptr);
  };
  return s.one_shot ? between_stamps(s, once) : check(once(), "launching a stream failed");
}

Expected<void> StreamLauncher::transfer(const Stream& s) {
  if (host_.bytes() < s.footprint_bytes) {
    host_ = HostAllocation();
    auto made = HostAllocation::make(driver_, s.footprint_bytes);
    if (!made) return tl::unexpected<Error>(made.error());
    host_ = std::move(*made);
  }
  return between_stamps(s, [&] {
    return s.operation == program::Operation::upload
               ? driver_.cuMemcpyHtoDAsync(from_.address(), host_.data(), s.footprint_bytes, stream_)
               : driver_.cuMemcpyDtoHAsync(host_.data(), from_.address(), s.footprint_bytes, stream_);
  });
}

// What is done `laps` times in a row between two stamps of the timer, after once that isn't timed.
template <typename Once>
Expected<void> StreamLauncher::between_stamps(const Stream& s, const Once& once) {
  for (std::uint32_t i = 0; i <= s.laps; ++i) {
    if (i == 1)
      if (auto ok = stamp(first_stamp); !ok) return ok;
    if (auto ok = check(once(), "launching a stream failed"); !ok) return ok;
  }
  return stamp(last_stamp);
}

Expected<program::StreamTrace> StreamLauncher::collect(const Stream& s) {
  const std::size_t bytes = head_bytes + (s.one_shot ? 0 : s.blocks * sizeof(StreamBlock));
  if (auto ok = check(driver_.cuMemcpyDtoHAsync(times_host_.data(), times_.address(), bytes, stream_),
                      "reading a stream's times failed");
      !ok)
    return tl::unexpected<Error>(ok.error());
  if (auto ok = check(driver_.cuStreamSynchronize(stream_), "a streaming kernel failed"); !ok)
    return tl::unexpected<Error>(ok.error());
  const auto* head = static_cast<const std::byte*>(times_host_.data());
  if (!s.one_shot) return stream_trace(s, reinterpret_cast<const StreamBlock*>(head + head_bytes));
  std::array<std::uint64_t, 2> stamps{};
  std::memcpy(stamps.data(), head + first_stamp, sizeof(stamps));
  program::StreamTrace trace;
  trace.bytes = program::counted_bytes(s);
  trace.accesses = program::counted_accesses(s);
  trace.ns = stamps[1] - stamps[0];
  trace.sms = std::min(s.blocks, info_.gpu.sm_count);
  return trace;
}

Expected<program::StreamTrace> StreamLauncher::run(const Stream& s) {
  const bool has_kernel = !program::is_transfer(s.operation);
  auto name = has_kernel ? stream_kernel(s) : Expected<std::string>("stream_stamp");
  if (!name) return tl::unexpected<Error>(name.error());
  if (auto ok = check_stream(s, info_); !ok) return tl::unexpected<Error>(ok.error());
  if (auto ok = start(); !ok) return tl::unexpected<Error>(ok.error());
  auto kernel = module_.function(*name);
  if (!kernel) return tl::unexpected<Error>(kernel.error());
  auto arguments = prepare(s);
  if (!arguments) return tl::unexpected<Error>(arguments.error());
  if (auto ok = has_kernel ? launch(*kernel, s, *arguments) : transfer(s); !ok)
    return tl::unexpected<Error>(ok.error());
  return collect(s);
}

}  // namespace gputopo::device::cuda
