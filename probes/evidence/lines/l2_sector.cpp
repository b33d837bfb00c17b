#include "evidence/lines/l2_sector.hpp"

#include <algorithm>
#include <memory>
#include <span>

#include "evidence/inference/estimates.hpp"
#include "evidence/inference/modes.hpp"
#include "evidence/inference/period.hpp"
#include "evidence/looks/longest_line.hpp"

namespace gputopo::evidence {
namespace {

// Whether parts of a sector begin with a word that is slower than the one behind it: they are sectors of this cache, of
// which one that brings in more has all but the first.
bool are_some_slower(const std::vector<double>& words, std::size_t sector) {
  constexpr std::size_t least = 32 / cold_word_bytes;  // no shorter sectors there have been
  for (std::size_t part = sector / 2; part >= least; part /= 2) {
    std::vector<double> slower, hits;
    for (std::size_t i = part; i + 1 < words.size(); i += 2 * part) {
      slower.push_back(words[i] - words[i + 1]);
      hits.push_back(words[i + 1]);
    }
    if (median(slower) > (half_a_level - 1) * median(hits)) return true;
  }
  return false;
}

Estimate sector_of(Session& session, Findings& findings, const CacheFacts& l2, const Levels& levels) {
  const std::vector<double>& words = findings.l2_cold_words;
  // What serves a miss may be nearer than memory: a cache behind this one, which brings in a sector of its own, or a
  // row that is open. Of words that are no hits it doesn't matter which. Words of few lines, so a few of them beside
  // the hits' range are neither.
  constexpr double few = 0.005;
  const double slowest_hit = half_a_level * *std::max_element(l2.by_line.begin(), l2.by_line.end());
  const auto count_between = [&](double from, double to) {
    return std::ranges::count_if(words, [&](double cycles) { return cycles > from && cycles < to; });
  };
  const auto neither = count_between(slowest_hit, levels.threshold_cycles);
  const bool are_few = static_cast<double>(neither) <= few * static_cast<double>(words.size());
  // Where none is as near as hits are, all of these words lie farther away.
  const bool are_hits_farther = count_between(0, slowest_hit) == 0;
  const double threshold = are_few || are_hits_farther ? levels.threshold_cycles : slowest_hit;
  const auto missed = std::make_unique<bool[]>(words.size());
  for (std::size_t i = 0; i < words.size(); ++i) missed[i] = words[i] >= threshold;
  const Estimate sector =
      period_of(std::span(missed.get(), words.size()), cold_word_bytes, levels.contamination(), "cold_misses");
  session.keep(period_curve(std::span(missed.get(), words.size()), cold_word_bytes, sector, l2.path.id));
  findings.l2_words_from_a_cache =
      sector.has_value() && are_some_slower(words, static_cast<std::size_t>(*sector.value) / cold_word_bytes);
  if (findings.l2_words_from_a_cache)
    return inconclusive("B", "cold_misses", "parts of a sector are served by a cache that is nearer than memory");
  return sector;
}

}  // namespace

std::vector<double> cold_lines_in_a_row(const std::vector<double>& cold_words) {
  std::vector<double> lines;
  for (std::size_t word = 0; word < cold_words.size(); word += longest_line_bytes / cold_word_bytes)
    lines.push_back(cold_words[word]);
  return lines;
}

void state_l2_sector(Session& session, Findings& findings, const Levels& levels) {
  CacheFacts& l2 = *findings.cache("l2");
  if (findings.l2_cold_words.empty() || l2.by_line.empty()) return;
  const Estimate& sector = findings.memory("l2").attributes["sector_size"] = sector_of(session, findings, l2, levels);
  if (sector.has_value()) l2.sector_bytes = static_cast<std::uint64_t>(*sector.value);
}

}  // namespace gputopo::evidence
