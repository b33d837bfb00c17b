#include "device/sim/cache_unit.hpp"

#include <algorithm>
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

bool CacheUnit::can_sweep(std::uint64_t address, std::uint64_t footprint_bytes, std::uint64_t stride_bytes) const {
  const std::uint64_t line = model_->line_bytes;
  const bool alike =
      stride_bytes == line || (line % stride_bytes == 0 && address % line == 0 && footprint_bytes % line == 0);
  const bool copies_can = copies_.empty() || copies_.front()->can_sweep();
  return alike && model_->prefetch_lines == 0 && homes_.front()->can_sweep() && copies_can;
}

// A home's lines keep the order of their addresses and have no gaps, so those of a range are a range as well: up to the
// first line whose address isn't below the range's end.
std::uint64_t CacheUnit::first_line_from(std::uint64_t address, std::uint32_t home) const {
  if (homes_.size() == 1) return address >> line_shift_;
  const auto [granule, offset] = by_interleave_.divide(address);
  const std::uint64_t row = by_count_.divide(granule).quotient;
  const std::uint64_t lines = by_interleave_.value() >> line_shift_;  // of a granule
  for (std::uint64_t g = row * by_count_.value();; ++g) {
    if (place_of(g * by_interleave_.value()).home != home) continue;
    if (g < granule) return (row + 1) * lines;
    return row * lines + (g == granule ? offset >> line_shift_ : 0);
  }
}

void CacheUnit::sweep(std::uint64_t address, std::uint64_t footprint_bytes, std::uint64_t stride_bytes,
                      std::uint32_t tag_class, std::uint32_t partition, Random& random) {
  std::uint32_t sectors = 0;
  for (std::uint64_t at = address; at < address + model_->line_bytes; at += stride_bytes)
    sectors |= 1U << (at >> sector_shift_ & sector_mask_);
  const std::uint64_t first = address >> line_shift_;
  const std::uint64_t end = first + std::max<std::uint64_t>(1, footprint_bytes >> line_shift_);
  for (std::uint32_t home = 0; home < homes_.size(); ++home)
    changes_ += homes_[home]->sweep(first_line_from(first << line_shift_, home),
                                    first_line_from(end << line_shift_, home), tag_class, sectors, random);
  if (!copies_.empty()) changes_ += copies_[partition]->sweep(first, end, tag_class, sectors, random);
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
