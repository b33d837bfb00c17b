#include "catalog/limits.hpp"

#include <algorithm>
#include <array>

namespace gputopo::catalog {
namespace {

struct LimitsRow {
  std::string_view compute_capability;
  std::uint32_t cores_per_sm, threads_per_sm, blocks_per_sm;
};

constexpr std::array<LimitsRow, 25> limits_rows{
    {{"1.0", 8, 768, 8},     {"1.1", 8, 768, 8},     {"1.2", 8, 1024, 8},    {"1.3", 8, 1024, 8},
     {"2.0", 32, 1536, 8},   {"2.1", 48, 1536, 8},   {"3.0", 192, 2048, 16}, {"3.2", 192, 2048, 16},
     {"3.5", 192, 2048, 16}, {"3.7", 192, 2048, 16}, {"5.0", 128, 2048, 32}, {"5.2", 128, 2048, 32},
     {"5.3", 128, 2048, 32}, {"6.0", 64, 2048, 32},  {"6.1", 128, 2048, 32}, {"6.2", 128, 2048, 32},
     {"7.0", 64, 2048, 32},  {"7.2", 64, 2048, 32},  {"7.5", 64, 1024, 16},  {"8.0", 64, 2048, 32},
     {"8.6", 128, 1536, 16}, {"8.7", 128, 1536, 16}, {"8.9", 128, 1536, 24}, {"9.0", 128, 2048, 32},
     {"10.0", 128, 2048, 32}}};

struct UnifiedRow {
  std::string_view compute_capability;
  std::uint64_t kib, shared_kib;
};

constexpr std::array<UnifiedRow, 8> unified_rows{
    {{"7.0", 128, 96}, {"7.5", 96, 64}, {"8.0", 192, 164}, {"8.6", 128, 100}, {"8.7", 192, 164}, {"8.9", 128, 100},
     {"9.0", 256, 228}, {"10.0", 256, 228}}};

}  // namespace

Limits published_limits(std::string_view compute_capability) {
  const auto row = std::find_if(limits_rows.begin(), limits_rows.end(),
                                [&](const LimitsRow& r) { return r.compute_capability == compute_capability; });
  if (row == limits_rows.end()) return {};
  const bool is_first_generation = compute_capability.starts_with("1.");
  Limits limits;
  limits.cores_per_sm = row->cores_per_sm;
  limits.threads_per_warp = 32;
  limits.threads_per_block = is_first_generation ? 512 : 1024;
  limits.threads_per_sm = row->threads_per_sm;
  limits.blocks_per_sm = row->blocks_per_sm;
  limits.shared_bytes_per_block = is_first_generation ? 16384 : 49152;
  limits.constant_bytes = 65536;
  return limits;
}

std::uint64_t published_unified_bytes(std::string_view compute_capability, std::uint64_t shared_bytes_per_sm) {
  const auto row = std::find_if(unified_rows.begin(), unified_rows.end(), [&](const UnifiedRow& r) {
    return r.compute_capability == compute_capability && r.shared_kib * 1024 == shared_bytes_per_sm;
  });
  return row == unified_rows.end() ? 0 : row->kib * 1024;
}

}  // namespace gputopo::catalog
