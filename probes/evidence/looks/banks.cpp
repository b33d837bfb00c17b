#include "evidence/looks/banks.hpp"

#include <algorithm>

namespace gputopo::evidence {

std::vector<program::Walk> over_banks(const program::Walk& walk, std::uint64_t bank_bytes, std::uint64_t load_bytes) {
  std::vector<program::Walk> parts;
  const std::uint64_t stride = walk.stride_bytes;
  for (std::uint64_t done = 0, all = program::positions(walk); done < all;) {
    const std::uint64_t at = walk.first_byte + done * stride;
    program::Walk part = walk;
    part.buffer += static_cast<std::uint32_t>(at / bank_bytes);
    part.first_byte = at % bank_bytes;
    const std::uint64_t loads = std::min(all - done, (bank_bytes - part.first_byte - 1) / stride + 1);
    part.footprint_bytes = loads * stride;
    done += loads;
    const bool last_apart = part.first_byte + part.footprint_bytes > bank_bytes;
    if (last_apart && loads > 1) {
      part.footprint_bytes -= stride;
      parts.push_back(part);
      part.first_byte += part.footprint_bytes;
    }
    if (last_apart) part.footprint_bytes = load_bytes;
    parts.push_back(part);
  }
  return parts;
}

void add_banks(program::Program& p, std::uint64_t bank_bytes, std::uint64_t bytes) {
  for (std::uint32_t module = 1; module * bank_bytes < bytes; ++module)
    p.buffers.push_back({program::Space::constant, bank_bytes, module});
}

}  // namespace gputopo::evidence
