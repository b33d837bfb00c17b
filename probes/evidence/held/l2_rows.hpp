// Footprints of the L2, of which stretches spread over all of them are looked at: whether they fit, or how much of more
// is held.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "evidence/looks/findings.hpp"
#include "evidence/looks/footprint.hpp"
#include "evidence/looks/search.hpp"
#include "evidence/looks/session.hpp"

namespace gputopo::evidence {

inline constexpr std::uint64_t l2_unit_bytes = 4096;        ///< footprints are whole ones
inline constexpr std::uint64_t l2_patient_bytes = 8 << 20;  ///< larger footprints don't get the time to settle
inline constexpr std::uint32_t l2_warm_laps = 2;
inline constexpr std::uint64_t l2_least_places = 16;  ///< that tell what a footprint's lines take

/// What rows are walked for: to tell whether all of it fits, or to count how much is held of more.
enum class Purpose { search, count };

/// Who searches looks at neighbours, so many that one in 64 loads is the first of its page at most.
inline constexpr std::uint64_t searched_lines = 64;
/// Who counts looks at a page, one line in each of its quarters, behind one that translates: neighbours may be of one
/// set, and what is missing push out those beside it (docs/domain.md: four lines of 256 B in a row).
inline constexpr std::uint64_t counted_page_bytes = 4096, counted_apart_bytes = 1024;

/// Sectors of a line, at most (docs/domain.md).
inline constexpr std::uint64_t most_sectors = 4;

class L2Rows {
 public:
  /// As `sm` finds them, any one where that isn't said. `session` must outlive it.
  L2Rows(Session& session, const CacheFacts& l2, std::optional<std::uint32_t> sm = {})
      : session_(session),
        stride_(std::max<std::uint64_t>(32, l2.sector_bytes)),
        saturation_(l2.saturation()),
        sm_(sm) {}

  /// Stretches looked at by one of so many programs: what it misses pushes out less than one line in 64. A count needs
  /// more of them: what goes by age is known to one of their distances.
  std::uint64_t stretches(std::uint64_t bytes, Purpose purpose) const;
  /// Programs that a count's look at one stretch each is shared by: what one of them misses pushes out less than one
  /// line in 64, where each takes a line of four sectors with it.
  std::uint64_t sharing(std::uint64_t bytes) const;
  /// Lines that one program of a count looks at, at most.
  std::uint64_t counted_lines(std::uint64_t bytes) const {
    const std::uint64_t programs = sharing(bytes);
    return (stretches(bytes, Purpose::count) + programs - 1) / programs * lines_of(Purpose::count);
  }

  /// How often each footprint was asked for, by one who tells hits from misses in his own way.
  using Key = std::tuple<std::uint64_t, std::uint32_t, std::size_t, std::size_t, Purpose>;
  using Asked = std::map<Key, std::size_t>;

  /// Near lines, and all that aren't memory's, are told from the same looks: what one asked for another isn't walked
  /// for. Errors are the session's.
  Expected<std::vector<Histogram>> histograms(const std::vector<RowRequest>& rows, std::size_t replicates,
                                              Purpose purpose, Asked& asked);

  /// Counts loads that took `threshold_cycles` or longer, of small footprints at l2_least_places at least: which lines
  /// a full set throws out follows their order, and a few places may have none of these. Both must outlive it.
  CountRows counter(double threshold_cycles, Asked& asked);

  std::uint64_t stride() const { return stride_; }
  double saturation() const { return saturation_; }

 private:
  static constexpr std::uint64_t lines_of(Purpose purpose) {
    return purpose == Purpose::count ? counted_page_bytes / counted_apart_bytes : searched_lines;
  }
  void add_neighbours(program::Program& p, std::uint64_t bytes, std::uint64_t part, std::uint64_t parts) const;
  void add_pages(program::Program& p, std::uint64_t bytes, std::uint64_t program, std::uint64_t programs) const;
  program::Program program(std::uint64_t bytes, std::uint32_t patience, std::uint64_t part, std::uint64_t parts,
                           Purpose purpose) const;

  Session& session_;
  std::uint64_t stride_;
  double saturation_;
  std::optional<std::uint32_t> sm_;
  std::map<Key, std::vector<Histogram>> seen_;
};

}  // namespace gputopo::evidence
