// What a load's latency says about where it was served. Found once a path, from loads whose answer is known by
// construction, and used by everything that counts misses on that path.
#pragma once

#include "evidence/inference/counts.hpp"
#include "evidence/inference/histogram.hpp"
#include "topology/evidence.hpp"

namespace gputopo::evidence {

/// Levels of memory less than this apart are beyond what is told (docs/domain.md); halfway is where one is as near as
/// the other.
inline constexpr double least_ratio = 1.05;
inline constexpr double half_a_level = 1.025;

/// Two kinds of loads and the latency that tells them apart. Cycles as timed, the clock pair included.
struct Levels {
  Histogram hit;                ///< loads that the nearest level served, by construction
  Histogram next;               ///< loads that it couldn't have served, by construction
  double threshold_cycles = 0;  ///< a load that takes this long or longer counts as a miss
  double false_miss = 0;        ///< share of hits that count as misses: strangers, another's interference
  double false_hit = 0;         ///< share of misses that count as hits
  double sure_misses = 0;       ///< loads that this rests on
  double most_false_hit = 0;  ///< the most that it may be by what hides among hits; 0: nothing may, as far as was seen
  /// A load that takes this long or longer missed; one above the threshold that is faster may be a hit from farther
  /// than any that were seen. 0: the threshold itself.
  double surely_missed_cycles = 0;
  double doubt = 1;  ///< probability that both are samples of one and the same kind (two-sample test)

  /// Youden's index, the share of loads that the threshold tells apart: 1 for levels without overlap, 0 for one level.
  double told_apart() const { return 1 - false_miss - false_hit; }
  /// What loads are counted as though they were the other kind.
  Contamination contamination() const { return {false_miss, false_hit, static_cast<double>(total(hit))}; }
  /// Whether counts of misses mean anything. Below one half a load says less about its level than about chance. One
  /// load in twenty is a stranger's (docs/domain.md): where five times as many known hits are slow lines get lost, the
  /// more the longer a lap is, and no share of false misses holds for every footprint.
  bool usable() const { return told_apart() > 0.5 && false_miss < 0.25 && doubt < 0.01; }
};

/// The threshold with the least errors on both samples, in the middle of the widest gap where several are equally good.
/// Error shares are posterior means under a uniform prior, so that none is zero because few loads were seen.
Levels levels_of(Histogram hit, Histogram next);

/// The same where misses come from several levels: `graded` holds samples in the order of how surely their loads
/// missed, the last one for sure. The threshold lies below the nearest level that any of them found, and half a level
/// above the hits at least, without the `overhead_cycles` that timing adds; how far misses are taken for hits is told
/// by the last.
Levels graded_levels(Histogram hit, const std::vector<Histogram>& graded, double overhead_cycles);

/// Whether more of `others` than of `hits` take longer than half a level more: no sample of the same loads.
bool hold_slower_loads(const Histogram& hits, const Histogram& others, double overhead_cycles);
/// Whether more loads `after` than `before` take longer than some latency, whichever of the levels these are of.
bool are_slower(const Histogram& before, const Histogram& after);

/// Where loads of one level end by their own spread, as timed: twice as far above their middle as the fastest lie below
/// it. Strangers are further off.
double reach_of(const Histogram& loads);

/// Whether more than a stranger's one in twenty (docs/domain.md) take longer than loads of one level spread.
bool hold_more_than_strangers(const Histogram& loads);

/// Whether of `looks`, of which `slow` took longer than they should, that are more than strangers' one in twenty.
bool are_more_than_strangers(std::size_t slow, std::size_t looks);

/// Whether a few of `hits` are of a faster kind than those that take `hit_cycles`, as timed, by more than one level's
/// loads lie apart. Nothing makes loads faster: most of these weren't hits then.
bool hold_faster_kind(const Histogram& hits, double hit_cycles, double overhead_cycles);

/// Whether loads that can't have hit (the last of `graded`) are as fast as the faster half of hits, or any are faster
/// than hits by half a level: what is behind isn't slower, or not always. Levels that overlap by jitter have one in
/// twenty of these at most.
bool miss_as_fast(const Histogram& hit, const std::vector<Histogram>& graded, double overhead_cycles);

/// Whether something nearer than what takes `cycles`, as timed, serves many of the `walked` loads that aren't hits:
/// more than strangers are, and a quarter of them at least.
bool are_served_sooner(const Levels& levels, const Histogram& walked, double cycles, double overhead_cycles);

/// Whether a level lies so near to the hits that it is counted among them: of loads below the threshold more take
/// longer or shorter than known hits do, by `least_share` of some sample, than such of the level above it as look like
/// hits.
bool hide_a_level(const Levels& levels, const std::vector<Histogram>& graded, double least_share);
/// Of all that was walked over footprints up to those that overflow: strangers and lines that lie near are fewer.
inline constexpr double many_of_walked = 0.25;

/// What only loads of levels further on than the one right behind take, of which `furthest` holds some, as timed; 0
/// where no line of that level can be as fast as hits reach. Lines further on lie near and far: those of that level
/// that were seen, as slow ones, may be far by as much.
double cycles_behind_near_lines(const Levels& levels, const Histogram& furthest);

/// The same with its threshold as near to the hits as these allow: for misses that may be faster than any that were
/// seen. Where those are of one place and others may be as much nearer as these are apart, `by_their_spread`, halfway
/// to what is as fast as that.
Levels close_to_hits(Levels levels, double overhead_cycles, bool by_their_spread = false);

/// The share of loads of either kind that took so long or less, over latency; the change is the threshold.
DecidingCurve curve_of(const Levels& levels);

/// Whether loads that can't have hit take as long as those that can: the same kind of loads, and less than levels are
/// apart, at the SM clock there is and at the driver's (`clock_share` is the one in the other). What lies behind an SM
/// has a clock of its own, and is fewer cycles away from a slower SM. `overhead_cycles` is what timing adds.
bool are_alike(const Histogram& hits, const Histogram& behind, double overhead_cycles, double clock_share);

/// A load of a line that only the level behind could have, and the next one of it, as timed.
struct LoadPair {
  std::uint32_t first_cycles, second_cycles;
};

/// The same by line, where lines lie near and far: each line's second load takes as long as its first, and longer where
/// the first does. A nearer cache has its lines in one place, so that whatever the clock made of its latency, these
/// aren't its hits.
bool are_alike_by_line(const std::vector<LoadPair>& pairs, double overhead_cycles);

/// Second loads that are sooner than the first one of their line by half a level, less those that are as much later.
std::size_t sooner_less_later(const std::vector<LoadPair>& pairs, double overhead_cycles);

/// Whether second loads show that nothing nearer keeps lines, though another program may push some out in between: as
/// many are later than the first one of their line as sooner, and of a cache that loses all but `kept` of them more
/// would be sooner.
bool show_no_hits(const std::vector<LoadPair>& pairs, double overhead_cycles, double kept);

}  // namespace gputopo::evidence
