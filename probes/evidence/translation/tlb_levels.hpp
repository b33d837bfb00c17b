// The levels of translation that a line's latency shows: it rises by steps, the more other places were touched.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "evidence/translation/pages.hpp"

namespace gputopo::evidence {

/// Where the line's translation is found after so many other places were touched.
struct Plateau {
  double cycles = 0;               ///< more than with its translation just used
  std::uint64_t from = 0, to = 0;  ///< places touched, the least and the most that were tried
  /// Places that leave the translation just there, nearly always; 0: not chosen yet.
  std::uint64_t typical = 0;
};

struct TlbLevels {
  std::vector<Plateau> plateaus;  ///< [0]: nothing lost; [i]: lost from i levels
  double hot_cycles = 0;          ///< of the line, as timed, with its translation just used: the middle of looks
  double noise_cycles = 0;        ///< standard deviation of what the looks at one number of places say together
  std::uint64_t most = 0;         ///< places up to which the line itself stayed where it was
  /// What followed the last of the plateaus took times of neither now and then: another level may lie between.
  bool may_hide_one = false;
  Series by_places;  ///< cycles more than with its translation just used, over places touched
};

/// Of the line at the begin of the memory, from SM `sm`. A latency that a touch of the line's neighbour, in other lines
/// of its page, doesn't bring back to what it was is no matter of translation: the walk ends before. What is typical of
/// the plateaus isn't chosen yet. Errors are the session's.
Expected<TlbLevels> find_tlb_levels(Pages& pages, std::uint32_t sm);

/// Chooses the typical number of places of a plateau. Errors are the session's.
Expected<void> choose_typical(Pages& pages, std::uint32_t sm, TlbLevels& levels, std::size_t level);

/// Latencies over ascending numbers of places.
struct Rise {
  const std::vector<std::uint64_t>& places;
  const std::vector<double>& cycles;
  double nothing_lost_cycles = 0;  ///< what it rises from
  double noise_cycles = 0;
  /// Of what a latency is more than with nothing lost: such that differ by less are one level's.
  double share = 0;
};

/// Its plateaus: runs of three or more that agree, each higher than the last by more than noise and `share`.
std::vector<Plateau> plateaus_of(const Rise& rise);

/// What the looks at one number of places around one of their quartiles say together, and how far that may be off by
/// chance: the fewer they are, the farther.
struct PlaceTime {
  std::uint64_t places = 0;
  double cycles = 0, error_cycles = 0;  ///< more than with its translation just used; a standard deviation
};

/// How many of the plateaus are surely in a row, with no level between two of them. `times` may say several things of
/// one number of places; `ask` times one again, and its errors are given back.
Expected<std::size_t> surely_in_a_row(const TlbLevels& found, const std::vector<PlaceTime>& times,
                                      const std::function<Expected<std::vector<PlaceTime>>(std::uint64_t)>& ask);

/// What one entry of a level covers.
struct EntrySize {
  std::uint64_t bytes = 0;         ///< 0: not known
  std::uint64_t first_border = 0;  ///< the first address, from the memory's begin, that another entry covers
  std::string why_open;
  std::vector<Series> served;  ///< share of looks at a line that another one's entry served, over bytes between them
};

/// Of level `level` (1: the nearest), by refill: after the line's translation was lost from that level and brought back
/// there, how far away it serves other lines. Errors are the session's.
Expected<EntrySize> find_entry_size(Pages& pages, std::uint32_t sm, const TlbLevels& levels, std::size_t level);

}  // namespace gputopo::evidence
