// Pointer chases are laid before the launch that follows them: each visited word gets the place of the next.
#include <algorithm>
#include <array>
#include <set>

#include "device/cuda/launch.hpp"
#include "program/order.hpp"

namespace gputopo::device::cuda {
namespace {

using program::Walk;

// Everything that tells one chase from another in the same memory.
using Geometry = std::array<std::uint64_t, 8>;

std::uint64_t words_hold(program::Path path) {
  if (path == program::Path::texture) return 1;
  return path == program::Path::constant ? 2 : 0;
}

Geometry geometry_of(const Walk& walk, std::uint32_t place) {
  return {place,
          walk.first_byte,
          walk.footprint_bytes,
          walk.stride_bytes,
          static_cast<std::uint64_t>(walk.order),
          walk.order_seed,
          program::laid_loads(walk),
          words_hold(walk.path)};
}

void lay(const Walk& walk, std::vector<std::uint32_t>& bank) {
  const std::uint64_t n = program::positions(walk);
  const std::uint64_t loads = program::laid_loads(walk);
  const auto [first, step] = program::stepping(walk.order, walk.order_seed, n);
  std::uint64_t here = first;
  for (std::uint64_t k = 0; k < loads; ++k) {
    const std::uint64_t next = k + 1 == loads ? first : program::advance(here, step, n);
    bank.at((walk.first_byte + here * walk.stride_bytes) / 4) =
        static_cast<std::uint32_t>(walk.first_byte + next * walk.stride_bytes);
    here = next;
  }
}

}  // namespace

Expected<void> Launcher::lay_in_banks(const PlannedLaunch& launch,
                                      const std::map<std::uint32_t, std::vector<const Walk*>>& banks) {
  for (const auto& [module, walks] : banks) {
    auto kernel = variant(launch.kernel, module);
    if (!kernel) return tl::unexpected<Error>(kernel.error());
    std::vector<std::uint32_t> words(info_.constant_bytes_per_module / 4, 0);
    for (const Walk* walk : walks) lay(*walk, words);
    if (auto ok = check(driver_.cuMemcpyHtoDAsync((*kernel)->bank, words.data(), words.size() * 4, stream_),
                        "filling the constant bank failed");
        !ok)
      return ok;
    if (auto ok = check(driver_.cuStreamSynchronize(stream_), "filling the constant bank failed"); !ok) return ok;
  }
  return {};
}

Expected<void> Launcher::lay_in_memory(const Walk& walk, CUdeviceptr address) {
  const bool is_texture = walk.path == program::Path::texture;
  CUdeviceptr words = address;
  std::uint64_t base = is_texture ? 0 : address;
  std::uint32_t unit = is_texture ? 1 : 4;
  std::uint32_t wide = has_wide_words(walk) ? 1 : 0;
  auto first_word = static_cast<std::uint32_t>(walk.first_byte / 4);
  auto positions = static_cast<std::uint32_t>(program::positions(walk));
  auto stride_words = static_cast<std::uint32_t>(walk.stride_bytes / 4);
  const auto stepping = program::stepping(walk.order, walk.order_seed, positions);
  auto first = static_cast<std::uint32_t>(stepping.first);
  auto step = static_cast<std::uint32_t>(stepping.step);
  auto loads = static_cast<std::uint32_t>(program::laid_loads(walk));
  std::array<void*, 10> arguments{&words,     &base,         &unit,  &wide, &first_word,
                                  &positions, &stride_words, &first, &step, &loads};
  const unsigned blocks = std::clamp(loads / 256U, 1U, 1024U);
  return check(driver_.cuLaunchKernel(fill_, blocks, 1, 1, 256, 1, 1, 0, stream_, arguments.data(), nullptr),
               "laying a pointer chase failed");
}

Expected<void> Launcher::lay_chases(const program::Batch& batch, const PlannedLaunch& launch,
                                    const ReadyBuffers& buffers) {
  std::set<Geometry> laid;  // programs of one launch mostly share theirs
  std::map<std::uint32_t, std::vector<const Walk*>> banks;
  for (const PlannedPhase& planned : launch.phases) {
    const Walk* walk = program::laid_chase(batch[planned.program].phases[planned.phase]);
    if (walk == nullptr) continue;
    const bool is_bank = walk->path == program::Path::constant;
    if (!laid.insert(geometry_of(*walk, is_bank ? planned.module : walk->buffer)).second) continue;
    if (is_bank)
      banks[planned.module].push_back(walk);
    else if (auto ok = lay_in_memory(*walk, buffers.at(walk->buffer).address); !ok)
      return ok;
  }
  return lay_in_banks(launch, banks);
}

}  // namespace gputopo::device::cuda
