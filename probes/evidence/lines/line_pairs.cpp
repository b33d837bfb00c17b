#include "evidence/lines/line_pairs.hpp"

#include <algorithm>
#include <array>

#include <boost/math/distributions/binomial.hpp>
#include <fmt/format.h>

#include "evidence/inference/histogram.hpp"
#include "evidence/looks/banks.hpp"

namespace gputopo::evidence {
namespace {

using program::Walk;

constexpr std::uint64_t pairs_of_a_kind = 16;  // at each distance, for each of the amounts that are pushed
// Of a program, which must fit between two interruptions, and what one lane pushes in it.
constexpr std::uint64_t most_rounds = 32, most_loads_of_a_lane = 4096;

// How much is pushed between two looks, of the capacity. Before the other one of a pair is brought in, so that what
// goes by age parts them; and twice after, less than half of the capacity and more, so that what goes by use does.
constexpr double pushed_before = 0.3;
constexpr std::array<double, 5> pushed_between{0.25, 0.35, 0.45, 0.55, 0.65};

}  // namespace

PairFates& PairFates::operator+=(const PairFates& other) {
  parted += other.parted;
  asked_stayed += other.asked_stayed, asked_lost += other.asked_lost, both_lost += other.both_lost;
  last_stayed += other.last_stayed;
  return *this;
}

double PairFates::last_stayed_by_chance() const {
  if (2 * last_stayed <= parted.misses) return 1;
  const boost::math::binomial_distribution<> either(parted.misses, 0.5);
  return cdf(complement(either, last_stayed - 1));
}

void PairFates::leave_out_brought_nearer() {
  const double more = 2 * last_stayed - parted.misses;
  parted.misses -= more, last_stayed -= more, both_lost += more;
  asked_stayed =
      std::clamp(asked_stayed - more / 2, 0.0, parted.misses);  // either one was the one asked for in between
}

struct LinePairs::Pair {
  std::uint64_t distance = 0, at = 0;
  bool upper_first = true;     // which of both is brought in first and asked for in between
  bool is_asked_last = false;  // that one, at the end: in one set what brings one back may push the other out
};

LinePairs::LinePairs(Session& session, const CacheFacts& cache, std::uint64_t capacity_bytes, Scope isolation)
    : session_(session), cache_(cache), capacity_(capacity_bytes), isolation_(isolation), rounds_at_once_(most_rounds) {
  const std::uint64_t banks = cache.bank_bytes == 0 ? 1 : session.info().constant_modules;
  room_ = banks * room_of(session.info(), cache.path.slot);
  if (cache.path.slot == slot_flush)
    room_ = std::max(room_, std::min(4 * capacity_bytes, session.info().largest_buffer_bytes));
  const std::uint64_t least = room_ / 8, left = room_ > 3 * capacity_ ? room_ - 3 * capacity_ : 0;
  places_ = std::clamp(left, least, std::max(least, capacity_)) / furthest_bytes * furthest_bytes;
  if (cache.bank_bytes != 0) places_ = std::min(places_, cache.bank_bytes);
  pushing_ = std::min(room_ - places_, 3 * capacity_) / stride() * stride();
  // Right behind so many others an H200's L1 takes 57 to 109 cycles, clock included, where known hits take 57.
  constexpr double nearly_all = 0.95;
  late_cycles_ = std::sqrt(quantile(cache.levels.hit, nearly_all).value_or(0) * cache.levels.threshold_cycles);
}

bool LinePairs::has_room() const {
  constexpr double overflowing = 1.2;
  return places_ >= 2 * furthest_bytes && static_cast<double>(pushing_) > overflowing * static_cast<double>(capacity_);
}

Expected<std::vector<PairFates>> LinePairs::run(const std::vector<std::uint64_t>& distances, std::uint64_t spacing) {
  for (;; rounds_at_once_ /= 4) {
    auto fates = run_once(distances, spacing);
    if (fates || fates.error().kind != Error::Kind::unavailable || rounds_at_once_ < 4) return fates;
  }
}

Expected<std::vector<PairFates>> LinePairs::run_once(const std::vector<std::uint64_t>& distances,
                                                     std::uint64_t spacing) {
  spacing_ = spacing;
  program::Batch batch;
  std::vector<std::vector<Look>> looks;
  for (const double between : pushed_between) {
    const std::vector<Pair> pairs = pairs_at(distances);
    for (auto next = pairs.begin(); next != pairs.end();) {
      begin();
      for (std::uint64_t round = 0; round < rounds(between) && next != pairs.end(); ++round) {
        // Pairs take an eighth of the cache at most, if lines are as long as can be.
        constexpr std::uint64_t pair_bytes = 4 * largest_line_bytes;
        const auto a_round = std::max<std::ptrdiff_t>(1, static_cast<std::ptrdiff_t>(capacity_ / 8 / pair_bytes));
        const auto end = next + std::min(a_round, pairs.end() - next);
        add_round({next, end}, between);
        next = end;
      }
      batch.push_back(std::move(p_));
      looks.push_back(std::move(looks_));
    }
  }
  auto traces = session_.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  std::vector<PairFates> fates;
  for (const std::uint64_t distance : distances) fates.push_back({distance, {}});
  for (std::size_t i = 0; i < batch.size(); ++i)
    for (const Look& look : looks[i]) count(look, (*traces)[i].phases, fates);
  return fates;
}

// Of what pushes. Through a cache in front by each of its lines, so that none of its sets keeps what was looked at.
std::uint64_t LinePairs::stride() const {
  return cache_.front_line_bytes != 0 ? cache_.front_line_bytes : std::max<std::uint64_t>(8, cache_.sector_bytes);
}

std::uint64_t LinePairs::rounds(double between) const {
  if (!kernels_read(cache_.path.slot)) return rounds_at_once_;
  const double a_round = (pushed_before + 2 * between) * std::max(1.0, static_cast<double>(capacity_ / stride()));
  return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(most_loads_of_a_lane / a_round), 1, rounds_at_once_);
}

// Each begins at a multiple of twice the distance, so that both lie in one line if that is longer than the distance;
// those further apart than any line is long, anywhere. Either comes first, since they lie in different sets, of which
// a kernel may need some; of code the upper one, since what is fetched ahead lies above.
std::vector<LinePairs::Pair> LinePairs::pairs_at(const std::vector<std::uint64_t>& distances) {
  std::vector<Pair> pairs;
  for (std::uint64_t i = 0; i < pairs_of_a_kind; ++i)
    for (const std::uint64_t distance : distances) {
      const bool may_be_one = distance <= largest_line_bytes;
      const std::uint64_t unit = may_be_one ? 2 * distance : distances.front();
      // A walk over both ends within a bank.
      const std::uint64_t in_a_bank = cache_.bank_bytes == 0 ? places_ : cache_.bank_bytes - 2 * distance;
      const std::uint64_t room = may_be_one ? places_ : std::min(places_ - distance - unit, in_a_bank);
      const auto on = static_cast<std::uint64_t>(even_place(place_++) * static_cast<double>(room));
      const bool is_code = cache_.path.slot == slot_code;
      pairs.push_back({distance, on / unit * unit, i % 2 == 0 || is_code, i / 2 % 2 != 0 && !is_code});
    }
  return pairs;
}

void LinePairs::begin() {
  p_ = make_program(fmt::format("{} line", cache_.path.id), session_.info(), cache_.path.slot);
  p_.isolation = isolation_;
  std::uint64_t& buffer = p_.buffers[cache_.path.slot].size_bytes;
  if (cache_.path.slot == slot_flush) buffer = std::max(buffer, room_);
  if (cache_.bank_bytes != 0) add_banks(p_, cache_.bank_bytes, places_ + pushing_);
  looks_.clear();
  push_in_a_row(capacity_);
}

void LinePairs::add(const Walk& walk) {
  if (cache_.bank_bytes == 0) {
    p_.phases.emplace_back(walk);
    return;
  }
  for (const Walk& part : over_banks(walk, cache_.bank_bytes, cache_.front_line_bytes)) p_.phases.emplace_back(part);
}

void LinePairs::add_pushing(const Walk& walk) {
  add(kernels_read(cache_.path.slot) ? walk : by_all_lanes(walk, session_.info()));
}

// Brings in lines that weren't asked for since more than the cache holds was.
void LinePairs::push_in_a_row(std::uint64_t bytes) {
  for (bytes = (bytes / stride() + 1) * stride(); bytes > 0;) {
    const std::uint64_t now = std::min(bytes, pushing_ - pushed_);
    Walk walk = make_walk(cache_.path, now, stride(), 1);
    walk.first_byte = places_ + pushed_;
    add_pushing(walk);
    pushed_ = (pushed_ + now) % pushing_;
    bytes -= now;
  }
}

// As much as a share of the capacity, and what a cache in front holds at least, since that mustn't answer.
void LinePairs::push(double share) {
  const auto bytes =
      std::max(static_cast<std::uint64_t>(share * static_cast<double>(capacity_)), cache_.front_capacity_bytes * 9 / 8);
  if (spacing_ == in_a_row) return push_in_a_row(bytes);
  Walk walk = make_walk(cache_.path, pushing_ / spacing_ * spacing_, spacing_, 1);
  walk.first_byte = (places_ + spacing_ - 1) / spacing_ * spacing_;
  walk.order = program::Order::shuffled;
  walk.order_seed = session_.settings().seed + p_.phases.size();
  walk.loads_per_lap = std::clamp<std::uint64_t>(bytes / spacing_, 1, program::positions(walk));
  add_pushing(walk);
}

// Loads of the first one of a pair and, if `both`, of the other.
Walk LinePairs::loads(const Pair& pair, bool both) const {
  Walk walk = make_walk(cache_.path, both ? 2 * pair.distance : pair.distance, pair.distance, 1);
  walk.first_byte = pair.at + (both || !pair.upper_first ? 0 : pair.distance);
  if (pair.upper_first) walk.order = program::Order::reverse;
  return walk;
}

std::size_t LinePairs::look_at_the_end(Pair pair) {
  if (pair.is_asked_last) pair.upper_first = !pair.upper_first;
  return look_at(pair, true);
}

std::size_t LinePairs::look_at(const Pair& pair, bool both) {
  // There are TLBs past the SM's caches: with its translation at hand.
  if (cache_.path.slot == slot_flush) {
    Walk beside = make_walk(cache_.path, stride(), stride(), 1);
    beside.first_byte = pair.at ^ std::max<std::uint64_t>(4 * largest_line_bytes, 2 * pair.distance);
    add(beside);
  }
  add(recorded(loads(pair, both), program::Record::latencies, 1));
  return p_.phases.size() - 1;
}

void LinePairs::add_round(std::span<const Pair> pairs, double between) {
  const std::size_t first = looks_.size();
  for (const Pair& pair : pairs) {
    looks_.push_back({pair.distance, pair.is_asked_last, 0, 0, 0});
    add(loads(pair, false));
  }
  push(pushed_before);
  for (std::size_t i = 0; i < pairs.size(); ++i) looks_[first + i].before = look_at(pairs[i], true);
  push(between);
  for (std::size_t i = 0; i < pairs.size(); ++i) looks_[first + i].between = look_at(pairs[i], false);
  push(between);
  for (std::size_t i = 0; i < pairs.size(); ++i) looks_[first + i].after = look_at_the_end(pairs[i]);
}

// Whether a load hit; nothing where a cache in front answered, nor of one that is as near to misses as to known hits:
// lines that were loaded a moment ago may come from nearer than known misses did.
std::optional<bool> LinePairs::hit(std::uint32_t latency) const {
  if (latency < cache_.front_threshold_cycles) return std::nullopt;
  if (latency >= cache_.levels.threshold_cycles) return false;
  return latency < late_cycles_ ? std::optional(true) : std::nullopt;
}

// Of a pair whose first one was lost before the end the line may have come back for the other one alone.
void LinePairs::count(const Look& look, std::span<const program::PhaseTrace> phases,
                      std::vector<PairFates>& fates) const {
  const auto before = hit(phases[look.before].latencies[0]), between = hit(phases[look.between].latencies[0]);
  const auto& after = phases[look.after].latencies;
  const auto first = hit(after[look.first_is_last]), other = hit(after[!look.first_is_last]);
  const auto at = std::ranges::find(fates, look.distance, &PairFates::distance_bytes);
  if (before.value_or(false) && between == false) ++at->asked_lost;
  if (!before.value_or(false) || !between.value_or(false) || !first || !other) return;
  at->parted += {1, *first != *other ? 1.0 : 0.0};
  if (*first && !*other) ++at->asked_stayed;
  if (*first != *other && hit(after[1]) == true) ++at->last_stayed;
  if (!*first && !*other) ++at->both_lost;
}

}  // namespace gputopo::evidence
