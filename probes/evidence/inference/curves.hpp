// Deciding curves as experiments make them: the axes and series that several have in common.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/inference/histogram.hpp"
#include "evidence/inference/sameness.hpp"
#include "topology/evidence.hpp"

namespace gputopo::evidence {

inline constexpr std::string_view share_that_misses = "share of loads that miss";
inline constexpr std::string_view share_of_lines_lost = "share of lines lost";

/// As many lines as a plot has colours for: of more SMs the first ones stand for all.
inline constexpr std::size_t most_series = 8;

DecidingCurve make_curve(std::string_view memory, std::string_view quantity, Axis x, Axis y);

/// The answer lies on the x axis: says where, with its interval, where the estimate is one.
void mark(DecidingCurve& curve, const Estimate& answer);

/// Steps: for each number the share of all that are at most as large. Steps that no plot shows are left out.
Series share_up_to(std::string label, std::vector<double> numbers);
/// Of loads by what they took, less `overhead_cycles`.
Series share_up_to(std::string label, const Histogram& loads, double overhead_cycles = 0);

/// What each number's share is of, as a y axis: "share of loads".
Axis share_axis(std::string_view of);

/// The numbers behind a latency or a penalty, cycles, whose mean or quartile is the answer.
DecidingCurve numbers_curve(std::string_view memory, std::string_view quantity, const Axis& x, std::string_view of,
                            std::vector<double> numbers, const Estimate& answer);

/// Who was asked about one SM (or warp), and what it lost to each; and to itself and to nobody, the controls.
struct Asked {
  std::uint32_t first = 0;
  std::map<std::uint32_t, double> lost_to;
  double to_itself = 0, to_nobody = 0;
};

/// What SMs (or warps, as `who` says) lost to others, a series for each of the first few that were asked about. `y` is
/// what is counted.
DecidingCurve asked_curve(std::string_view memory, std::string_view quantity, std::string_view who, std::string_view y,
                          std::span<const Asked> asked);

/// What is lost to other loads in between, against so many bytes of these: nothing (the control of 'apart') and all.
struct LostToBytes {
  std::string to;
  double bytes = 0;
  std::vector<Tally> runs;  ///< of the same program
};
/// `none`: runs with nothing in between, which all series begin with.
void add_lost_to(DecidingCurve& curve, const LostToBytes& lost, std::span<const Tally> none);
DecidingCurve lost_to_curve(std::string_view memory, std::string_view quantity);

}  // namespace gputopo::evidence
