#include "device/sim/cache_unit.hpp"

#include <bit>

namespace gputopo::sim {
namespace {

std::uint32_t log2_of(std::uint64_t power_of_two) {
  return static_cast<std::uint32_t>(std::countr_zero(power_of_two));
}

}  // namespace

CacheUnit::CacheUnit(const CacheModel& model, std::uint64_t carve_out)
    : model_(&model),
      line_shift_(log2_of(model.line_bytes)),
      sector_shift_(log2_of(model.sector_bytes)),
      sector_mask_(static_cast<std::uint32_t>(model.line_bytes / model.sector_bytes - 1)),
      all_sectors_(static_cast<std::uint32_t>((std::uint64_t{2} << sector_mask_) - 1)),
      by_interleave_(model.partitions.interleave_bytes),
      by_count_(model.partitions.count) {
  const std::uint64_t lines = usable_bytes(model, carve_out) / model.line_bytes / model.partitions.count;
  const bool copies = model.partitions.count > 1 && model.partitions.mode == PartitionMode::near_copy;
  for (std::uint32_t p = 0; p < model.partitions.count; ++p) {
    homes_.push_back(std::make_unique<CacheArray>(model.organisation, lines));
    if (copies) copies_.push_back(std::make_unique<CacheArray>(model.organisation, lines));
  }
}

bool CacheUnit::pass(std::uint64_t address, std::uint32_t tag_class, Random& random) {
  const std::uint32_t sector = 1U << (address >> sector_shift_ & sector_mask_);
  const Place place = place_of(address);
  if (homes_[place.home]->pass(place.line, tag_class, sector, random)) return true;
  ++changes_;
  return false;
}

void CacheUnit::prefetch(CacheArray& array, std::uint64_t line, std::uint32_t tag_class, Random& random) const {
  for (std::uint32_t ahead = 1; ahead <= model_->prefetch_lines; ++ahead)
    array.access(line + ahead, tag_class, all_sectors_, random);
}

// Nothing but a change since the last time makes an array worth clearing.
void CacheUnit::clear() {
  if (changes_ == cleared_at_) return;
  for (auto& array : homes_) array->clear();
  for (auto& array : copies_) array->clear();
  cleared_at_ = changes_;
}

}  // namespace gputopo::sim
