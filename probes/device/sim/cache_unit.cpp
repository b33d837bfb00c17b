#include <algorithm>
#include <bit>

#include "device/sim/hierarchy.hpp"

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

// Of each run of `count` granules every partition gets one, in an order that looks random. A partition numbers the
// lines that it is home to without gaps, so that its sets fill evenly.
CacheUnit::Place CacheUnit::place_of(std::uint64_t address) const {
  if (homes_.size() == 1) return {0, address >> line_shift_};
  const auto [granule, offset] = by_interleave_.divide(address);
  const auto [row, column] = by_count_.divide(granule);
  const auto home = static_cast<std::uint32_t>(by_count_.divide(column + (mix(row) >> 32)).remainder);
  return {home, (row * by_interleave_.value() + offset) >> line_shift_};
}

bool CacheUnit::pass(std::uint64_t address, std::uint32_t tag_class, Random& random) {
  const std::uint32_t sector = 1U << (address >> sector_shift_ & sector_mask_);
  const Place place = place_of(address);
  return homes_[place.home]->pass(place.line, tag_class, sector, random);
}

bool CacheUnit::access_array(CacheArray& array, std::uint64_t line, std::uint32_t tag_class, std::uint32_t sector,
                             bool probe, Random& random) const {
  if (probe) return array.contains(line, tag_class, sector);
  if (array.access(line, tag_class, sector, random)) return true;
  for (std::uint32_t ahead = 1; ahead <= model_->prefetch_lines; ++ahead)
    array.access(line + ahead, tag_class, all_sectors_, random);
  return false;
}

Outcome CacheUnit::access(std::uint64_t address, std::uint32_t tag_class, std::uint32_t partition, bool probe,
                          Random& random) {
  const std::uint32_t sector = 1U << (address >> sector_shift_ & sector_mask_);
  if (homes_.size() > 1) return access_partitioned(address, tag_class, partition, probe, sector, random);
  return access_array(*homes_.front(), address >> line_shift_, tag_class, sector, probe, random) ? Outcome::hit
                                                                                                 : Outcome::miss;
}

Outcome CacheUnit::access_partitioned(std::uint64_t address, std::uint32_t tag_class, std::uint32_t partition,
                                      bool probe, std::uint32_t sector, Random& random) {
  const Place place = place_of(address);
  const bool present = access_array(*homes_[place.home], place.line, tag_class, sector, probe, random);
  bool near = place.home == partition;
  if (!copies_.empty())
    near = access_array(*copies_[partition], address >> line_shift_, tag_class, sector, probe, random);
  if (!present) return Outcome::miss;
  return near ? Outcome::hit : Outcome::far_hit;
}

void CacheUnit::clear() {
  for (auto& array : homes_) array->clear();
  for (auto& array : copies_) array->clear();
}

}  // namespace gputopo::sim
