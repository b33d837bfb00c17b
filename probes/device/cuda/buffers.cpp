#include "device/cuda/buffers.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace gputopo::device::cuda {
namespace {

constexpr std::uint64_t granule = std::uint64_t{2} << 20;    // one large page: every buffer starts on its own
constexpr std::uint64_t half_span = std::uint64_t{1} << 32;  // bytes of which the high half of the address is the same

std::uint64_t round_up(std::uint64_t bytes) {
  return (std::max<std::uint64_t>(bytes, 1) + granule - 1) / granule * granule;
}

bool one_half(CUdeviceptr address, std::uint64_t bytes) {
  return bytes == 0 || address / half_span == (address + bytes - 1) / half_span;
}

}  // namespace

Buffers::~Buffers() {
  for (auto& [number, slot] : slots_) drop(slot);
}

void Buffers::drop(Slot& slot) {
  for (const auto& [part, texture] : slot.textures) driver_.cuTexObjectDestroy(texture);
  slot = Slot{};
}

Expected<void> Buffers::grow(Slot& slot, const BufferNeed& need) {
  drop(slot);  // frees first: old and new together might not fit
  const std::uint64_t bytes = round_up(need.bytes);
  auto memory = Allocation::make(driver_, bytes, "a buffer");
  if (!memory) return tl::unexpected<Error>(memory.error());
  slot.address = memory->address();
  if (!one_half(slot.address, need.one_half_bytes)) {
    // With so much more the buffer can begin at the border.
    const std::uint64_t more = round_up(need.one_half_bytes);
    if (more > half_span)
      return fail(Error::Kind::unavailable,
                  fmt::format("a chase of 4-byte words over {} MiB can't be laid: its addresses need 8 bytes; use a "
                              "stride that is a multiple of 8",
                              more >> 20));
    *memory = Allocation();
    memory = Allocation::make(driver_, bytes + more, "a buffer");
    if (!memory) return tl::unexpected<Error>(memory.error());
    slot.address = memory->address();
    if (!one_half(slot.address, need.one_half_bytes)) slot.address = (slot.address / half_span + 1) * half_span;
  }
  slot.memory = std::move(*memory);
  slot.bytes = bytes;
  if (const CUresult code = driver_.cuMemsetD32Async(slot.address, 0, bytes / 4, stream_); code != CUDA_SUCCESS)
    return tl::unexpected<Error>(driver_.error(code, "clearing a buffer failed"));
  return {};
}

Expected<void> Buffers::texture_over(Slot& slot, std::uint64_t part) {
  if (slot.textures.contains(part)) return {};
  const std::uint64_t most = 4 * texture_elements_;
  CUDA_RESOURCE_DESC resource{};
  resource.resType = CU_RESOURCE_TYPE_LINEAR;
  resource.res.linear.devPtr = slot.address + part * most;
  resource.res.linear.format = CU_AD_FORMAT_UNSIGNED_INT32;
  resource.res.linear.numChannels = 1;
  resource.res.linear.sizeInBytes = std::min(slot.bytes - part * most, most);
  CUDA_TEXTURE_DESC description{};
  description.flags = CU_TRSF_READ_AS_INTEGER;
  CUtexObject texture = 0;
  if (const CUresult code = driver_.cuTexObjectCreate(&texture, &resource, &description, nullptr); code != CUDA_SUCCESS)
    return tl::unexpected<Error>(driver_.error(code, "creating a texture failed"));
  slot.textures.emplace(part, texture);
  return {};
}

Expected<ReadyBuffers> Buffers::prepare(const BufferNeeds& needs) {
  for (const auto& [number, need] : needs) {
    Slot& slot = slots_[number];
    if (slot.bytes != 0 && slot.bytes >= need.bytes && one_half(slot.address, need.one_half_bytes)) continue;
    if (auto ok = grow(slot, need); !ok) return tl::unexpected<Error>(ok.error());
  }
  ReadyBuffers ready;
  for (const auto& [number, need] : needs) {
    Slot& slot = slots_[number];
    for (const std::uint64_t part : need.texture_parts)
      if (auto ok = texture_over(slot, part); !ok) return tl::unexpected<Error>(ok.error());
    ready.slots_[number] = {slot.address, slot.textures};
  }
  return ready;
}

}  // namespace gputopo::device::cuda
