// What stores leave in a cache, told by loads that come after them (docs/measuring.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/inference/histogram.hpp"
#include "evidence/inference/sameness.hpp"
#include "topology/evidence.hpp"
#include "topology/statement.hpp"

namespace gputopo::evidence {

inline constexpr std::string_view stores_method = "stores";

/// One question: lines brought in or cold, a store to some words of each, and a load of one word of each.
struct StoreCase {
  std::string_view label;                   ///< as a plot shows it
  bool is_hit = false;                      ///< asks what a store does to a line that is there
  std::vector<std::uint64_t> loaded_bytes;  ///< offsets in the line that were loaded before
  std::vector<std::uint64_t> stored_bytes;  ///< offsets in the line, of words
  std::uint64_t looked_at_byte = 0;         ///< likewise
};

/// The questions in the order of StoreAnswers::found, the two controls first: loaded lines and cold ones. Lines of
/// `line_bytes` (0: not known) with sectors of `sector_bytes`; questions about words or sectors that a line doesn't
/// have, or may not have, aren't asked.
std::vector<StoreCase> store_cases(std::uint64_t sector_bytes, std::uint64_t line_bytes);

/// What was counted of each question.
struct StoreAnswers {
  std::vector<StoreCase> cases;
  std::vector<Tally> counted;    ///< by case, all runs together
  std::vector<Histogram> timed;  ///< likewise: every load
  bool is_line_known = false;

  /// Whether loads of the case of that label hit; nothing where that can't be told, or nobody asked.
  std::optional<bool> hit(std::string_view label) const;
  std::uint64_t samples() const;
};

inline constexpr std::string_view control_loaded = "loaded, nothing stored";
inline constexpr std::string_view control_cold = "nothing loaded or stored";
inline constexpr std::string_view hit_same_word = "loaded, its word stored";
inline constexpr std::string_view hit_other_word = "loaded, another word of its sector stored";
inline constexpr std::string_view hit_other_sector = "loaded, another sector of its line stored";
inline constexpr std::string_view miss_same_word = "its word stored";
inline constexpr std::string_view miss_other_word = "another word of its sector stored";
inline constexpr std::string_view miss_other_sector = "another sector of its line stored";
inline constexpr std::string_view miss_whole_sector = "all words of its sector stored";

/// What a store does to a line that is there: "update" or "invalidate".
Statement write_hit_of(const StoreAnswers& answers);

/// What a store leaves where its line wasn't, for loads: "none", "word" (what was stored), "full_sector" (sectors that
/// were stored whole, and nothing of others), "sector" or "line".
Statement write_allocate_of(const StoreAnswers& answers);

/// What loads of each case took, of those that ask about hits or of the others; the controls in either.
DecidingCurve stores_curve(std::string_view memory, std::string_view quantity, const StoreAnswers& answers,
                           bool of_hits);

}  // namespace gputopo::evidence
