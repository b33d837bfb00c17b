#include "evidence/line.hpp"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "evidence/banks.hpp"
#include "evidence/curves.hpp"
#include "evidence/estimates.hpp"
#include "evidence/footprint.hpp"
#include "evidence/period.hpp"

namespace gputopo::evidence {
namespace {

using program::Walk;

constexpr std::string_view line_method = "shifted_stride";
constexpr std::uint64_t largest_line_bytes = 1024;
constexpr std::uint64_t enough_loads = 128;
constexpr std::uint64_t most_rounds = 3;  // of places, where the first ones leave it open
constexpr std::uint32_t line_most_looks =
    10;  // each costs microseconds, and a program must fit between two interruptions

// Where the second region may begin, strides behind the first: odd distances, which tell halves of lines from sets in
// conflict, near by and some capacities further on, where a hash has other rows.
// Further on by some in every `round`.
std::array<std::uint64_t, 6> gaps_in_strides(std::uint64_t capacity_bytes, std::uint64_t stride, std::uint64_t round) {
  const std::uint64_t strides = capacity_bytes / stride, on = 4 * round;
  return {on, on + 1, on + 3, on + (strides / 3 | 1U), on + (strides | 1U), on + ((strides * 5 / 3) | 1U)};
}

class Pattern {
 public:
  Pattern(Session& session, const CacheFacts& cache, std::uint64_t capacity_bytes, Scope isolation,
          std::uint64_t most_loads)
      : session_(session), cache_(cache), capacity_(capacity_bytes), isolation_(isolation), most_loads_(most_loads) {}

  // Both regions in turn, then both timed, each of `percent` of the capacity.
  void add(std::uint64_t stride, std::uint64_t gap_strides, bool shifted, std::uint64_t percent) {
    program::Program p = make_program(fmt::format("{} line, stride {}, gap {}", cache_.path.id, stride, gap_strides),
                                      session_.info(), cache_.path.slot);
    p.isolation = isolation_;
    // Whole strides, rounded up: rounded down, both regions of a cache of few lines would fit together.
    const std::uint64_t region = (capacity_ * percent / 100 + stride - 1) / stride * stride;
    Walk first = make_walk(cache_.path, region, stride, 1);
    Walk second = first;
    second.first_byte = region + gap_strides * stride + (shifted ? stride / 2 : 0);
    const std::uint64_t needed = second.first_byte + region + cache_.sector_bytes;
    std::uint64_t& buffer = p.buffers[cache_.path.slot].size_bytes;
    if (cache_.path.slot == slot_flush) buffer = std::max(buffer, needed);
    const std::uint64_t banks = cache_.bank_bytes == 0 ? 1 : session_.info().constant_modules;
    const bool fits_buffer = needed <= banks * buffer;
    batch_.push_back({});
    if (!fits_buffer) return;
    if (cache_.bank_bytes != 0) add_banks(p, cache_.bank_bytes, needed);
    if (!kernels_read(cache_.path.slot)) {
      first = by_all_lanes(first, session_.info());
      second = by_all_lanes(second, session_.info());
    }
    // Every lap loads each line by another line of the cache in front, as long as one miss brings in several of those.
    const auto add_shifted = [&](Walk walk, std::uint32_t lap) {
      const std::uint64_t turns =
          cache_.front_line_bytes == 0 ? 1 : std::max<std::uint64_t>(1, cache_.sector_bytes / cache_.front_line_bytes);
      walk.first_byte += lap % turns * cache_.front_line_bytes;
      if (cache_.bank_bytes == 0)
        p.phases.emplace_back(walk);
      else
        for (const Walk& part : over_banks(walk, cache_.bank_bytes, cache_.front_line_bytes))
          p.phases.emplace_back(part);
    };
    std::uint32_t lap = 0;
    for (; lap < cache_.warm_laps + 1; ++lap) {
      add_shifted(first, lap);
      add_shifted(second, lap);
    }
    // Both regions are looked at: a cache that goes by age may hold all of one for a while, never all of both.
    const std::vector<Walk> look_at_first = timed(first), look_at_second = timed(second);
    const std::uint64_t a_look = 2 * program::lap_loads(look_at_first.front()) * look_at_first.size();
    for (std::uint32_t look = 0; look == 0 || (look < line_most_looks && look * a_look < enough_loads); ++look, ++lap) {
      for (const Walk& walk : look_at_first) add_shifted(walk, lap);
      for (const Walk& walk : look_at_second) add_shifted(walk, lap);
    }
    batch_.back() = std::move(p);
  }

  // What each pattern's loads did; nothing of those that had no room.
  Expected<std::vector<Tally>> run() {
    program::Batch programs;
    for (const program::Program& p : batch_)
      if (!p.phases.empty()) programs.push_back(p);
    auto traces = session_.run(programs);
    if (!traces) return tl::unexpected<Error>(traces.error());
    std::vector<Tally> seen;
    std::size_t next = 0;
    for (const program::Program& p : batch_) {
      seen.push_back({});
      if (p.phases.empty()) continue;
      const Histogram timed = recorded_histogram((*traces)[next++]);
      // What a cache in front answers says nothing of this one; where it answers most of them this one isn't walked.
      const std::uint64_t told = count_from(timed, cache_.front_threshold_cycles);
      if (2 * told < total(timed)) continue;
      seen.back() = {static_cast<double>(told), static_cast<double>(count_from(timed, cache_.levels.threshold_cycles))};
    }
    return seen;
  }

 private:
  // A part of the region where it is large. There are TLBs past the SM's caches, so stretches of neighbours there, of
  // which one in many is the first of its page, all over the region: sets overflow where they do, which may be next to
  // one another, or as far apart as places at equal distances. Others in each program: what looks leave behind in a set
  // decides what it lacks the next time.
  std::vector<Walk> timed(const Walk& region) const {
    constexpr std::uint64_t stretches = 32;
    Walk walk = recorded(region, program::Record::histogram, 1);
    const std::uint64_t loads = program::lap_loads(walk);
    if (loads <= most_loads_) return {walk};
    if (cache_.path.slot != slot_flush) {
      walk.order = program::Order::shuffled;
      walk.order_seed = session_.settings().seed + batch_.size();
      walk.loads_per_lap = most_loads_;
      return {walk};
    }
    std::vector<Walk> parts(stretches, walk);
    const std::uint64_t part = most_loads_ / stretches, own = (loads - part) / stretches;
    for (std::uint64_t i = 0; i < stretches; ++i) {
      const auto on = static_cast<std::uint64_t>(even_place(i + stretches * batch_.size()) * static_cast<double>(own));
      parts[i].first_byte += (i * own + on) * walk.stride_bytes;
      parts[i].footprint_bytes = part * walk.stride_bytes;
    }
    return parts;
  }

  Session& session_;
  const CacheFacts& cache_;
  std::uint64_t capacity_;
  Scope isolation_;
  std::uint64_t most_loads_;
  program::Batch batch_;
};

// Misses of shifted patterns over their stride, beside the same without the shift.
DecidingCurve line_curve(const std::vector<PatternWalk>& walks, const Estimate& line, std::string_view memory) {
  DecidingCurve curve =
      make_curve(memory, "line_size", {"stride", "B", true}, {std::string(share_that_misses), "", false});
  for (const auto& [kind, label] : {std::pair{PatternWalk::Kind::shifted, "shifted by half a stride"},
                                    std::pair{PatternWalk::Kind::straight, "not shifted"}}) {
    std::map<std::uint64_t, Tally> by_stride;
    for (const PatternWalk& walk : walks)
      if (walk.kind == kind) by_stride[walk.stride_bytes] += walk.seen;
    Series& series = curve.series.emplace_back(Series{label, {}});
    for (const auto& [stride, seen] : by_stride)
      if (seen.loads > 0) series.points.emplace_back(stride, seen.share());
  }
  if (line.has_value() && line.status == Status::measured) curve.change = line.value, curve.interval = line.interval;
  return curve;
}

}  // namespace

Expected<Estimate> measure_line(Session& session, const CacheFacts& cache, std::uint64_t capacity_bytes,
                                Scope isolation, std::uint64_t most_loads) {
  // Where one miss brings in several loads' bytes, shorter strides miss less for that alone.
  if (cache.sector_bytes == 0) return inconclusive("B", line_method, "needs to know what one miss brings in");
  const std::uint64_t least = std::max<std::uint64_t>(8, cache.sector_bytes);
  // What a cache in front holds needn't be held by this one: five sixths of it, of which 1.2 overflow it as well.
  capacity_bytes += cache.front_capacity_bytes * 5 / 6;
  std::vector<PatternWalk> walks;
  Estimate line;
  for (std::uint64_t round = 0; round < most_rounds; ++round) {
    Pattern pattern(session, cache, capacity_bytes, isolation, most_loads);
    const std::size_t before = walks.size();
    const auto add = [&](std::uint64_t stride, std::uint64_t gap, PatternWalk::Kind kind) {
      pattern.add(stride, gap, kind == PatternWalk::Kind::shifted, kind == PatternWalk::Kind::fits ? 30 : 60);
      walks.push_back({stride, gap, kind, {}});
    };
    constexpr std::size_t times = 4;
    for (std::size_t i = 0; i < times; ++i) add(least, 0, PatternWalk::Kind::fits);
    if (round == 0) add(least, 0, PatternWalk::Kind::straight);
    for (std::uint64_t x = 2 * least; x <= std::min(2 * largest_line_bytes, capacity_bytes / 2); x *= 2)
      for (const std::uint64_t gap : gaps_in_strides(capacity_bytes, x, round)) {
        add(x, gap, PatternWalk::Kind::shifted);
        add(x, gap, PatternWalk::Kind::straight);
      }
    auto seen = pattern.run();
    if (!seen) return tl::unexpected<Error>(seen.error());
    for (std::size_t i = before; i < walks.size(); ++i) walks[i].seen = (*seen)[i - before];
    line = line_of(walks, least, line_method);
    if (line.has_value()) break;
  }
  session.keep(line_curve(walks, line, cache.path.id));
  return line;
}

}  // namespace gputopo::evidence
