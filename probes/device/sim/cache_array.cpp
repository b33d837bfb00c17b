#include "device/sim/cache_array.hpp"

#include "stop/stop.hpp"

namespace gputopo::sim {

CacheArray::CacheArray(const Organisation& organisation, std::uint64_t lines) : index_(organisation, lines) {
  if (index_.most_ways() > PackedSets::way_limit) {
    wide_.emplace(index_, organisation.replacement);
    return;
  }
  packed_.emplace(index_, organisation.replacement);
  if (organisation.replacement == Replacement::lru && index_.lists_lines()) log_.emplace(index_);
}

bool CacheArray::sweep(const Sweep& sweep) {
  if (log_->is_long()) {
    for (std::uint32_t set = 0; set < index_.sets(); ++set) {
      stop::look();
      bring_up_to_date(set);
    }
    log_->forget();
  }
  return log_->add(sweep);
}

std::optional<std::uint32_t> CacheArray::look_into_log(std::uint32_t set, const Access& access) {
  log_->disturb();
  if (log_->is_up_to_date(set)) return std::nullopt;
  if (const auto missing = log_->request(set, *packed_, access)) return missing;
  bring_up_to_date(set);
  return std::nullopt;
}

bool CacheArray::leave_waiting(std::uint32_t set, const Access& access) {
  log_->disturb();
  return !log_->is_up_to_date(set) && log_->remember(set, access);
}

void CacheArray::bring_up_to_date(std::uint32_t set) {
  log_->disturb();
  if (log_->is_up_to_date(set)) return;
  waiting_.clear();
  const SweepLog::Waiting waiting = log_->take(set, waiting_);
  if (!waiting.full.empty()) packed_->fill(set, waiting.full);
  Random unused(0);  // LRU draws nothing
  for (auto access = waiting.accesses.rbegin(); access != waiting.accesses.rend(); ++access)
    packed_->fetch(set, access->key, access->sectors, unused);
}

void CacheArray::clear() {
  packed_ ? packed_->clear() : wide_->clear();
  if (log_) log_->forget();
}

void CacheArray::restore(const State& state) {
  packed_ = state.packed;
  wide_ = state.wide;
  if (log_) log_->disturb();
}

}  // namespace gputopo::sim
