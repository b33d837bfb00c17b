// What stores do to one instance of a cache.
#include "device/sim/cache_unit.hpp"

namespace gputopo::sim {

// Lines in one piece of the address space have numbers of their own in every partition: a key is of the whole space.
bool CacheUnit::finds_word(std::uint64_t address, std::uint32_t tag_class, Random& random) {
  if (!can_load_words_ || !words_.holds(CacheArray::key_of(address >> line_shift_, tag_class), address)) return false;
  const Place place = place_of(address);
  if (!homes_[place.home]->contains(place.line, tag_class, words_bit)) return false;
  if (has_residents()) tell_arrays();
  homes_[place.home]->access(place.line, tag_class, words_bit, random);
  return true;
}

void CacheUnit::keep_word(std::uint64_t address, std::uint32_t tag_class, Random& random) {
  const Place place = place_of(address);
  CacheArray& home = *homes_[place.home];
  const std::uint64_t key = CacheArray::key_of(address >> line_shift_, tag_class);
  if (!home.access(place.line, tag_class, words_bit, random)) words_.forget(key);  // of an earlier stay
  words_.add(key, address);
  const std::uint64_t sector_bytes = model_->sector_bytes;
  if (words_.holds_all(key, address / sector_bytes * sector_bytes, sector_bytes))
    home.access(place.line, tag_class, sector_bit(address), random);
  if (words_.lines() <= 2 * model_->size_bytes / model_->line_bytes) return;
  words_.forget_if([&](std::uint64_t other) {
    const Place gone = place_of(CacheArray::line_of(other) << line_shift_);
    return !homes_[gone.home]->contains(gone.line, CacheArray::tag_class_of(other), words_bit);
  });
}

CacheUnit::Stored CacheUnit::store(std::uint64_t address, std::uint32_t tag_class, const Writes& writes,
                                   Random& random) {
  history_ = unknown;
  if (has_residents()) tell_arrays();
  ++changes_;
  can_load_words_ = writes.allocate == WriteAllocate::word;
  const Place place = place_of(address);
  CacheArray& home = *homes_[place.home];
  const std::uint32_t sector = sector_bit(address);
  const bool through = writes.policy == WritePolicy::through;
  const bool is_there = home.contains(place.line, tag_class, sector);
  if ((is_there || finds_word(address, tag_class, random)) && writes.hit == WriteHit::invalidate) {
    home.drop(place.line, tag_class);
    for (auto& copy : copies_) copy->drop(address >> line_shift_, tag_class);
    return {true, 0};
  }
  if (is_there) {
    home.access(place.line, tag_class, sector, random);
    return {through, 0};
  }
  switch (writes.allocate) {
    case WriteAllocate::none:
      return {true, 0};
    case WriteAllocate::word:
    case WriteAllocate::full_sector:
      keep_word(address, tag_class, random);
      return {through, 0};
    case WriteAllocate::sector:
      return {through, home.fetch(place.line, tag_class, sector, random)};
    case WriteAllocate::line:
      return {through, home.fetch(place.line, tag_class, all_sectors_, random)};
  }
  return {};
}

}  // namespace gputopo::sim
