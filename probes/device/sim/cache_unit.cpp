#include "device/sim/cache_unit.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <utility>

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
      by_count_(model.partitions.count),
      known_(model.partitions.count) {
  const std::uint64_t lines = usable_bytes(model, carve_out) / model.line_bytes / model.partitions.count;
  const bool copies = model.partitions.count > 1 && model.partitions.mode == PartitionMode::near_copy;
  for (std::uint32_t p = 0; p < model.partitions.count; ++p) {
    homes_.push_back(std::make_unique<CacheArray>(model.organisation, lines));
    if (copies) copies_.push_back(std::make_unique<CacheArray>(model.organisation, lines));
  }
}

bool CacheUnit::can_sweep(std::uint64_t stride_bytes) const {
  const std::uint64_t line = model_->line_bytes;
  const bool regular = std::has_single_bit(stride_bytes) &&
                       (homes_.size() == 1 || model_->partitions.interleave_bytes % std::max(line, stride_bytes) == 0);
  const bool copies_can = copies_.empty() || copies_.front()->can_sweep();
  return regular && model_->prefetch_lines == 0 && homes_.front()->can_sweep() && copies_can;
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

void CacheUnit::sweep(std::uint64_t address, std::uint64_t loads, std::uint64_t stride_bytes, std::uint32_t tag_class,
                      std::uint32_t partition, Random& random) {
  history_ = unknown;
  if (has_residents()) tell_arrays();
  const std::uint64_t line_bytes = model_->line_bytes;
  const std::uint64_t of_a_line = std::max<std::uint64_t>(1, line_bytes / stride_bytes);
  // Up to the next line's first load, then lines that are all alike, then what is left.
  const std::uint64_t skipped = (address & (line_bytes - 1)) / stride_bytes % of_a_line;
  const std::uint64_t head = std::min(loads, (of_a_line - skipped) % of_a_line);
  sweep_line(address, head, stride_bytes, tag_class, partition, random);
  const std::uint64_t begin = address + head * stride_bytes;
  const std::uint64_t lines = (loads - head) / of_a_line;
  const std::uint64_t end = begin + lines * of_a_line * stride_bytes;
  Sweep s;
  s.tag_class = tag_class;
  s.step = std::max<std::uint64_t>(1, stride_bytes / line_bytes);
  for (std::uint64_t i = 0; i < of_a_line; ++i) s.sectors |= sector_bit(begin + i * stride_bytes);
  s.whole_lines = s.sectors == all_sectors_;
  sweep_lines(begin >> line_shift_, end >> line_shift_, partition, s);
  sweep_line(end, loads - head - lines * of_a_line, stride_bytes, tag_class, partition, random);
}

void CacheUnit::sweep_line(std::uint64_t address, std::uint64_t loads, std::uint64_t stride_bytes,
                           std::uint32_t tag_class, std::uint32_t partition, Random& random) {
  std::uint32_t sectors = 0;
  for (std::uint64_t i = 0; i < loads; ++i) sectors |= sector_bit(address + i * stride_bytes);
  if (loads != 0) fetch(address, sectors, tag_class, partition, random);
}

void CacheUnit::sweep_lines(std::uint64_t first, std::uint64_t end, std::uint32_t partition, Sweep s) {
  for (std::uint32_t home = 0; home < homes_.size(); ++home) {
    s.first = first_line_from(first << line_shift_, home);
    // A granule has as many lines as a multiple of the step, so that the lines keep their distance there.
    s.first += (first - s.first) & (s.step - 1);
    s.end = first_line_from(end << line_shift_, home);
    changes_ += homes_[home]->sweep(s) ? 1 : 0;
  }
  if (copies_.empty()) return;
  s.first = first;
  s.end = end;
  changes_ += copies_[partition]->sweep(s) ? 1 : 0;
}

bool CacheUnit::pass(std::uint64_t address, std::uint32_t tag_class, Random& random) {
  history_ = unknown;
  const std::uint32_t sector = sector_bit(address);
  const Place place = place_of(address);
  // What is there grows no younger.
  if (has_residents() && homes_[place.home]->contains(place.line, tag_class, sector)) return true;
  if (has_residents()) tell_arrays();
  if (homes_[place.home]->pass(place.line, tag_class, sector, random)) return true;
  ++changes_;
  return false;
}

void CacheUnit::expect(const Residents::Loads& loads, std::uint32_t partition) {
  const bool are_known = has_residents();
  KnownRanges& own = known_of(partition);
  const auto covers = [&](const Residents& r) { return r.loads().cover(loads); };
  if (are_known && std::any_of(own.ranges.begin(), own.ranges.end(), covers)) return;
  // Knowing them costs as much as asking for each, so it is for those that come again.
  if (!std::exchange(own.expected_first, loads).cover(loads)) return;
  if (are_known) tell_arrays();
  known_loads_.clear();
  for (KnownRanges& k : known_)
    for (Residents& r : k.ranges)
      if (!are_known) r.drop();
  own.latest = (own.latest + 1) % own.ranges.size();
  Residents& next = own.ranges[own.latest];
  if (know(next, loads, partition))
    residents_since_ = changes_;
  else
    next.drop();
}

// False where so many of them would miss that it isn't worth it. Caches in front may not ask for all.
bool CacheUnit::know(Residents& residents, const Residents::Loads& loads, std::uint32_t partition) {
  constexpr std::uint64_t few = 16;
  const std::uint64_t first = loads.address >> line_shift_;
  const std::uint64_t last = (loads.address + (loads.count - 1) * loads.stride_bytes) >> line_shift_;
  const std::uint32_t stride_shift = std::has_single_bit(loads.stride_bytes) ? log2_of(loads.stride_bytes) : 0;
  const std::uint32_t step_shift = stride_shift - std::min(stride_shift, line_shift_);
  const std::uint64_t count = ((last - first) >> step_shift) + 1;
  if (loads.count == 0 || count > std::min(Residents::most_lines, homes_.size() * lines())) return false;
  residents.start(loads, first, count, step_shift);
  std::uint64_t missing = 0;
  for (std::uint64_t i = 0, at = loads.address; i < loads.count; ++i, at += loads.stride_bytes) {
    const Place place = place_of(at);
    const std::uint64_t line = at >> line_shift_;
    if (!is_there(place, line, loads.tag_class, sector_bit(at), partition)) {
      if (++missing > few + i / 2) return false;
      continue;
    }
    Residents::Line& known = residents.at(line);
    known.sectors |= sector_bit(at);
    known.is_near = is_near(place, partition);
  }
  return true;
}

bool CacheUnit::ask_for_known(const LoadList& loads, std::uint32_t tag_class, std::uint32_t partition) {
  if (!has_residents() || has_words()) return false;
  auto known = std::find_if(known_loads_.begin(), known_loads_.end(), [&](const KnownLoads& k) {
    return k.loads == loads && k.tag_class == tag_class && k.partition == partition;
  });
  if (known == known_loads_.end()) {
    KnownRanges& own = known_of(partition);
    const bool all_there = std::all_of(loads->begin(), loads->end(), [&](std::uint64_t address) {
      return find_resident(own, address >> line_shift_, tag_class, sector_bit(address)).line != nullptr;
    });
    if (!all_there) return false;
    if (known_loads_.size() == most_known_loads) {
      tell_arrays();
      known_loads_.clear();
      known = known_loads_.end();
    }
    known = known_loads_.insert(known, {loads, tag_class, partition, 0});
  }
  history_ = unknown;
  known->asked_at = clock_ + 1;
  clock_ += loads->size();
  return true;
}

// What is there is there whatever order it was asked for in: until something is missing, hits need only be noted.
Outcome CacheUnit::ask_others(std::uint64_t line, std::uint32_t sectors, std::uint32_t tag_class,
                              std::uint32_t partition) {
  constexpr std::size_t most_noted = 1 << 12;
  const Place place = place_of(line << line_shift_);
  const bool hits = is_there(place, line, tag_class, sectors, partition);
  if (!hits || other_hits_.size() == most_noted) tell_arrays();
  if (!hits) return Outcome::miss;
  other_hits_.push_back({++clock_, line, tag_class, sectors, partition});
  return is_near(place, partition) ? Outcome::hit : Outcome::far_hit;
}

// In the order of their last loads, which decides what hits leave behind.
void CacheUnit::tell_arrays() {
  for (KnownLoads& k : known_loads_) {
    std::uint64_t time = std::exchange(k.asked_at, 0);
    for (std::size_t i = 0; time != 0 && i < k.loads->size(); ++i, ++time) {
      const std::uint64_t address = (*k.loads)[i];
      note(find_resident(known_of(k.partition), address >> line_shift_, k.tag_class, sector_bit(address)), k.partition,
           time);
    }
  }
  std::vector<Hit>& hits = other_hits_;
  for (const Asked& a : asked_)
    hits.push_back({std::exchange(a.line->asked_at, 0), a.of->number_of(*a.line), a.of->loads().tag_class,
                    a.line->sectors, a.partition});
  asked_.clear();
  std::sort(hits.begin(), hits.end(), [](const Hit& a, const Hit& b) { return a.time < b.time; });
  Random unused(0);  // hits draw nothing
  for (const Hit& h : hits) {
    const Place place = place_of(h.line << line_shift_);
    homes_[place.home]->access(place.line, h.tag_class, h.sectors, unused);
    if (!copies_.empty()) copies_[h.partition]->access(h.line, h.tag_class, h.sectors, unused);
  }
  hits.clear();
}

void CacheUnit::prefetch(CacheArray& array, std::uint64_t line, std::uint32_t tag_class, Random& random) {
  const std::int64_t step = distance_ahead(line);
  if (step == 0) return;
  for (std::uint32_t ahead = 1; ahead <= model_->prefetch_lines; ++ahead)
    array.access(line + static_cast<std::uint64_t>(step) * ahead, tag_class, all_sectors_, random);
}

// From line to line of what is brought in behind one that missed; 0: nothing is.
std::int64_t CacheUnit::distance_ahead(std::uint64_t line) {
  if (model_->prefetch_after == 0) return 1;
  const auto step = static_cast<std::int64_t>(line - missed_line_);
  if (step == 0) return 0;  // another sector of the same line
  equal_steps_ = step == missed_step_ ? equal_steps_ + 1 : 1;
  missed_line_ = line;
  missed_step_ = step;
  constexpr std::int64_t most_bytes = 4096;  // no prefetch knows where the next page lies
  const std::int64_t bytes = std::abs(step) << line_shift_;
  return equal_steps_ >= model_->prefetch_after && bytes <= most_bytes ? step : 0;
}

// Nothing but a change since the last time makes an array worth clearing.
void CacheUnit::clear() {
  history_ = 0;
  if (changes_ == cleared_at_) return;
  residents_since_ = ~std::uint64_t{0};
  asked_.clear();
  other_hits_.clear();
  known_loads_.clear();
  words_.clear();
  for (auto& array : homes_) array->clear();
  for (auto& array : copies_) array->clear();
  cleared_at_ = changes_;
}

bool CacheUnit::is_predictable() const {
  const Replacement r = model_->organisation.replacement;
  const bool draws = r == Replacement::random || r == Replacement::not_most_recent;
  return homes_.size() == 1 && history_ != unknown && !draws && can_fetch() && homes_.front()->is_settled();
}

void CacheUnit::restore(const CacheArray::State& state, std::uint64_t changes, std::uint32_t history) {
  homes_.front()->restore(state);
  changes_ += changes;
  history_ = history;
}

}  // namespace gputopo::sim
