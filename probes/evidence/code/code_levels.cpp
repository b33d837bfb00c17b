#include "evidence/code/code_levels.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "evidence/inference/modes.hpp"
#include "evidence/looks/footprint.hpp"
#include "evidence/looks/longest_line.hpp"
#include "evidence/translation/tlb_levels.hpp"

namespace gputopo::evidence {
namespace {

constexpr std::size_t code_times = 3;
// Of blocks in a row as few as one in four miss where a miss brings in four. Fewer, one in six of a cache of 32 KiB,
// are in sets with the walk's own code, which pushes them out a little before the cache is full.
constexpr double slowest = 0.8;

// Levels are so much further away than those before them, of what they are further than the first: lines of one level
// differ by where they lie on the chip, and more code has more of the far ones.
constexpr double least_apart = 0.1;

std::vector<std::uint64_t> growing_code(std::uint64_t most) {
  constexpr double ratio = 1.0905077326652577;  // eight to the octave
  std::vector<std::uint64_t> all;
  for (double n = 2; n <= static_cast<double>(most); n *= ratio)
    if (const auto whole = static_cast<std::uint64_t>(std::lround(n)); all.empty() || whole > all.back())
      all.push_back(whole);
  if (all.empty() || all.back() < most) all.push_back(most);
  return all;
}

// What one level's jumps take: those of a walk that neither nearer levels nor further ones served.
Mode mode_of(const Histogram& walk, double low_cycles, double high_cycles) {
  return whole_mode(between(walk, low_cycles, high_cycles));
}

// Between what and what jumps to the nearest of the lines lie that a level lost, cycles as timed.
struct Lost {
  double from = 0, to = 0;
};

// What is behind may lie near and far, of which the slowest jumps are the far ones: `halfway` to these need not be
// beyond the near ones. Near ones are compared with near ones.
Lost nearest_of(const Histogram& within, const Histogram& beyond, double front_cycles, const Lost& halfway) {
  constexpr double a_kind = 0.1;  // the near ones of up to eight sides, but for chance
  const double served = upper_fence(between(within, front_cycles, halfway.from));
  const std::vector<Mode> kinds = modes_of(between(beyond, served, halfway.to), a_kind);
  if (kinds.size() < 2 || kinds.back().median < least_ratio * kinds.front().median) return halfway;
  return {(served + kinds.front().low_quartile) / 2, (kinds[0].high_quartile + kinds[1].low_quartile) / 2};
}

// Of jumps, in cycles, and its standard error.
struct JumpTime {
  double cycles = 0, error = 0;
};

JumpTime time_of_jumps(const Histogram& jumps) {
  const double middle = mean(jumps).value_or(0), n = static_cast<double>(total(jumps));
  double squares = 0;
  for (const auto& bin : jumps) squares += static_cast<double>(bin.count) * std::pow(bin.latency_cycles - middle, 2);
  return {middle, std::sqrt(squares) / n};
}

class GrowingWalks {
 public:
  explicit GrowingWalks(Session& session) : session_(session), block_(session.info().code_block_bytes) {}

  Expected<void> run() {
    places_ = growing_code(session_.info().code_bytes / block_);
    program::Batch batch;
    for (const std::uint64_t n : places_)
      batch.insert(batch.end(), code_times, code_program(session_.info(), n * block_, block_));
    auto traces = session_.run_while_they_fit(batch);
    if (!traces) return tl::unexpected<Error>(traces.error());
    places_.resize(traces->size() / code_times);
    if (places_.empty())
      return fail(Error::Kind::unavailable, "another process on the GPU interrupts walks over any code");
    for (std::size_t i = 0; i < places_.size(); ++i) {
      Histogram all;
      std::vector<double> each;
      for (std::size_t k = 0; k < code_times; ++k) {
        const Histogram one = recorded_histogram((*traces)[i * code_times + k]);
        each.push_back(quantile(one, slowest).value_or(0));
        all = merged(all, one);
      }
      cycles_.push_back(median(each));
      walks_.push_back(std::move(all));
    }
    leave_out_own_code();
    return {};
  }

  std::vector<CodeLevel> levels() const {
    const std::vector<Plateau> plateaus = plateaus_of({places_, cycles_, cycles_.front(), 0.5, least_apart});
    std::vector<CodeLevel> found;
    for (std::size_t i = 0; i + 1 < plateaus.size(); ++i) found.push_back(level(plateaus, i, found));
    return found;
  }

 private:
  CodeLevel level(const std::vector<Plateau>& plateaus, std::size_t i, const std::vector<CodeLevel>& before) const {
    const Plateau& here = plateaus[i];
    const Plateau& behind = plateaus[i + 1];
    const bool has_more = i + 2 < plateaus.size();
    const double middle = (here.cycles + behind.cycles) / 2;
    const double end = has_more ? (behind.cycles + plateaus[i + 2].cycles) / 2 : 1e9;
    CodeLevel level;
    level.from_bytes = here.from * block_;
    level.to_bytes = here.to * block_;
    level.lost_from_bytes = behind.from * block_;
    level.front_threshold_cycles = before.empty() ? 0 : before.back().levels.threshold_cycles;
    const Histogram& within = walk_in(here);
    const Histogram& beyond = walk_in(behind);
    const Lost nearest = nearest_of(within, beyond, level.front_threshold_cycles, {middle, end});
    level.levels = levels_of(between(within, level.front_threshold_cycles, 1e9), between(beyond, nearest.from, 1e9));
    const Mode hit = mode_of(within, level.front_threshold_cycles, middle);
    const Mode lost = mode_of(beyond, nearest.from, nearest.to);
    // Medians: jumps that something else delays are slower by any amount.
    level.hit_cycles = hit.median;
    level.lost_cycles = lost.median;
    level.error_cycles = 1 + hit.error + lost.error;
    level.samples = total(within) + total(beyond);
    level.may_be_two = grows_within(here, level.front_threshold_cycles, middle);
    const auto missed = [&](const Histogram& walk) {
      return static_cast<double>(count_from(walk, nearest.from)) / static_cast<double>(total(walk));
    };
    level.held_bytes = held_until(here, missed);
    // Strangers are a share of all jumps, whichever cache they would have been answered by.
    const double strangers = missed(within);
    level.of_less = missed_in_a_row(place_of(middle_of(behind)), nearest.from, strangers);
    level.of_more = missed_in_a_row(place_of(behind.to), nearest.from, strangers);
    level.missed.label = "jumps to blocks in a row";
    for (std::size_t k = 0; k < places_.size() && places_[k] <= behind.to; ++k)
      if (places_[k] >= here.from)
        level.missed.points.emplace_back(static_cast<double>(places_[k] * block_), missed(walks_[k]));
    level.slowest.label = fmt::format("all but the slowest {:.0f} %", 100 * (1 - slowest));
    for (std::size_t k = 0; k < places_.size(); ++k)
      level.slowest.points.emplace_back(static_cast<double>(places_[k] * block_), cycles_[k]);
    return level;
  }

  // The most that any walk up to the end of a plateau found there, where a jump that missed stands for all blocks of
  // its line: what doesn't go by age keeps some of far more code than it holds.
  template <class Missed>
  std::uint64_t held_until(const Plateau& plateau, const Missed& missed) const {
    const double blocks_a_line = std::max(1.0, static_cast<double>(longest_line_bytes) / static_cast<double>(block_));
    double most = 0;
    for (std::size_t k = 0; k < places_.size() && places_[k] <= plateau.to; ++k)
      most = std::max(most, static_cast<double>(places_[k]) * (1 - blocks_a_line * missed(walks_[k])));
    return static_cast<std::uint64_t>(most) * block_;
  }

  // Whether jumps between two latencies, all of which one plateau's level should serve, take longer in some walks than
  // in others over less code: three in a row against three, by more than chance and nearly as much as levels are apart.
  bool grows_within(const Plateau& plateau, double low_cycles, double high_cycles) const {
    constexpr double deviations = 4, nearly = 0.8, least_cycles = 0.75;
    constexpr std::size_t in_a_row = 3;
    std::vector<JumpTime> means;
    for (std::size_t k = 0; k < places_.size(); ++k) {
      const Histogram served = between(walks_[k], low_cycles, high_cycles);
      if (places_[k] >= plateau.from && places_[k] <= plateau.to && !served.empty())
        means.push_back(time_of_jumps(served));
    }
    JumpTime least{1e9, 0};
    for (std::size_t end = in_a_row; end + in_a_row <= means.size(); ++end) {
      const JumpTime before = middle_of_three(means, end - in_a_row), behind = middle_of_three(means, end);
      if (before.cycles < least.cycles) least = before;
      const double further = behind.cycles - cycles_.front();
      const double told = std::max(least_cycles, nearly * (least_ratio - 1) * further);
      if (behind.cycles - least.cycles > std::max(told, deviations * std::hypot(behind.error, least.error)))
        return true;
    }
    return false;
  }

  static JumpTime middle_of_three(const std::vector<JumpTime>& means, std::size_t first) {
    std::array<JumpTime, 3> three{means[first], means[first + 1], means[first + 2]};
    std::sort(three.begin(), three.end(), [](const JumpTime& x, const JumpTime& y) { return x.cycles < y.cycles; });
    return three[1];
  }

  // More code is no faster than less. Of few blocks most may lie where the walk's own code pushes them out.
  void leave_out_own_code() {
    const auto [fastest, farthest] = std::minmax_element(cycles_.begin(), cycles_.end());
    const double alike = *fastest + least_apart * (*farthest - *fastest);
    const auto more = std::find_if(cycles_.begin(), fastest, [&](double cycles) { return cycles <= alike; });
    const auto few = more - cycles_.begin();
    cycles_.erase(cycles_.begin(), more);
    places_.erase(places_.begin(), places_.begin() + few);
    walks_.erase(walks_.begin(), walks_.begin() + few);
  }

  // `hidden`: the share of jumps that are as slow where all code fits.
  MissedInARow missed_in_a_row(std::size_t place, double from_cycles, double hidden) const {
    const auto blocks = static_cast<double>(places_[place]), loads = static_cast<double>(total(walks_[place]));
    const double share = static_cast<double>(count_from(walks_[place], from_cycles)) / loads;
    return {blocks, blocks * std::max(0.0, share - hidden) / (1 - hidden),
            3 * blocks * std::sqrt(hidden * (1 - hidden) / loads)};
  }

  // Of a level's plateau, the number of blocks that is as far from either end.
  static std::uint64_t middle_of(const Plateau& plateau) {
    return static_cast<std::uint64_t>(std::sqrt(static_cast<double>(plateau.from) * static_cast<double>(plateau.to)));
  }

  // The walk over so many blocks, or the next fewer.
  std::size_t place_of(std::uint64_t blocks) const {
    std::size_t i = 0;
    while (i + 1 < places_.size() && places_[i + 1] <= blocks) ++i;
    return i;
  }

  const Histogram& walk_in(const Plateau& plateau) const { return walks_[place_of(middle_of(plateau))]; }

  Session& session_;
  std::uint64_t block_;
  std::vector<std::uint64_t> places_;  // blocks walked
  std::vector<double> cycles_;
  std::vector<Histogram> walks_;
};

}  // namespace

program::Program code_program(const device::DeviceInfo& info, std::uint64_t bytes, std::uint64_t stride_bytes) {
  FootprintSpec spec;
  spec.path = instruction_l0_path;
  spec.stride_bytes = stride_bytes;
  spec.isolation = Scope::gpu;
  spec.warm_laps = 4;
  return footprint_program(info, spec, bytes);
}

Expected<std::vector<CodeLevel>> find_code_levels(Session& session) {
  GrowingWalks walks(session);
  if (auto ok = walks.run(); !ok) return tl::unexpected<Error>(ok.error());
  return walks.levels();
}

std::vector<std::string_view> names_of_code_levels(std::size_t count, bool has_l2) {
  const std::size_t first = count > 3 || (has_l2 && count == 3) ? 0 : 1;
  const std::size_t last = std::min(first + count, code_level_names.size());
  return {code_level_names.begin() + first, code_level_names.begin() + last};
}

}  // namespace gputopo::evidence
