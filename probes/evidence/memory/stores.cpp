#include "evidence/memory/stores.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "evidence/inference/curves.hpp"
#include "evidence/looks/structure.hpp"

namespace gputopo::evidence {
namespace {

constexpr std::uint64_t stored_word_bytes = 4;

std::vector<std::uint64_t> words_of(std::uint64_t bytes) {
  std::vector<std::uint64_t> words;
  for (std::uint64_t at = 0; at < bytes; at += stored_word_bytes) words.push_back(at);
  return words;
}

// Lines that are there and lines that aren't differ in nearly all loads. One in twenty is a stranger's (docs/domain.md)
// and some lines get lost: five times as many are more than either explains, and lines of both kinds.
constexpr double at_most_lost = 0.25;

bool is_asked(const StoreAnswers& a, std::string_view label) {
  return std::any_of(a.cases.begin(), a.cases.end(), [&](const StoreCase& c) { return c.label == label; });
}

Statement open_for(const StoreAnswers& a, std::string_view label) {
  for (std::size_t i = 0; i < a.cases.size(); ++i) {
    if (a.cases[i].label != label) continue;
    return undecided(stores_method,
                     fmt::format("of loads after '{}' {:.0f} % miss, which tells neither a hit nor a miss", label,
                                 100 * a.counted[i].share()));
  }
  return undecided(stores_method, fmt::format("nothing was counted of '{}'", label));
}

Statement contradicting(std::string_view one, std::string_view other) {
  return undecided(stores_method,
                   fmt::format("loads after '{}' and after '{}' fit no way of keeping stores", one, other));
}

// Of a store that the loads of its own word find: how much comes with it.
Statement kept_with_it(const StoreAnswers& a) {
  if (is_asked(a, miss_other_word)) {
    const auto other_word = a.hit(miss_other_word);
    if (!other_word) return open_for(a, miss_other_word);
    if (!*other_word) {
      if (is_asked(a, miss_other_sector) && a.hit(miss_other_sector).value_or(false))
        return contradicting(miss_other_word, miss_other_sector);
      return decided("word", stores_method, a.samples());
    }
  }
  if (!is_asked(a, miss_other_sector)) {
    if (!a.is_line_known)
      return undecided(stores_method, "a store brings in its sector; whether the line has others isn't known");
    return decided("line", stores_method, a.samples());
  }
  const auto other_sector = a.hit(miss_other_sector);
  if (!other_sector) return open_for(a, miss_other_sector);
  return decided(*other_sector ? "line" : "sector", stores_method, a.samples());
}

}  // namespace

std::vector<StoreCase> store_cases(std::uint64_t sector_bytes, std::uint64_t line_bytes) {
  const bool has_words = sector_bytes > stored_word_bytes;
  const bool has_sectors = line_bytes > sector_bytes;
  std::vector<StoreCase> cases{{control_loaded, true, {0}, {}, 0}, {control_cold, false, {}, {}, 0}};
  cases.push_back({hit_same_word, true, {0}, {0}, 0});
  if (has_words) cases.push_back({hit_other_word, true, {0}, {stored_word_bytes}, 0});
  if (has_sectors) cases.push_back({hit_other_sector, true, {0, sector_bytes}, {sector_bytes}, 0});
  cases.push_back({miss_same_word, false, {}, {0}, 0});
  if (has_words) cases.push_back({miss_other_word, false, {}, {stored_word_bytes}, 0});
  if (has_sectors) cases.push_back({miss_other_sector, false, {}, {sector_bytes}, 0});
  cases.push_back({miss_whole_sector, false, {}, words_of(sector_bytes), 0});
  return cases;
}

std::optional<bool> StoreAnswers::hit(std::string_view label) const {
  const auto of = [&](std::string_view wanted) -> const Tally* {
    for (std::size_t i = 0; i < cases.size(); ++i)
      if (cases[i].label == wanted) return &counted[i];
    return nullptr;
  };
  const Tally *seen = of(label), *loaded = of(control_loaded), *cold = of(control_cold);
  if (seen == nullptr || loaded == nullptr || cold == nullptr || seen->loads == 0) return std::nullopt;
  if (loaded->share() > at_most_lost || cold->share() < 1 - at_most_lost) return std::nullopt;
  if (seen->share() <= at_most_lost) return true;
  return seen->share() >= 1 - at_most_lost ? std::optional(false) : std::nullopt;
}

std::uint64_t StoreAnswers::samples() const {
  double loads = 0;
  for (const Tally& tally : counted) loads += tally.loads;
  return static_cast<std::uint64_t>(loads);
}

Statement write_hit_of(const StoreAnswers& a) {
  const auto same = a.hit(hit_same_word);
  if (!same) return open_for(a, hit_same_word);
  if (is_asked(a, hit_other_word)) {
    const auto other = a.hit(hit_other_word);
    if (!other) return open_for(a, hit_other_word);
    if (*other != *same) return contradicting(hit_same_word, hit_other_word);
  }
  std::optional<bool> other_sector;
  if (is_asked(a, hit_other_sector)) {
    other_sector = a.hit(hit_other_sector);
    if (!other_sector) return open_for(a, hit_other_sector);
    if (*same && !*other_sector) return contradicting(hit_same_word, hit_other_sector);
  }
  Statement s = decided(*same ? "update" : "invalidate", stores_method, a.samples());
  if (!*same && other_sector)
    s.note = *other_sector ? "the line's other sectors stay" : "the line's other sectors go as well";
  return s;
}

Statement write_allocate_of(const StoreAnswers& a) {
  const auto same = a.hit(miss_same_word);
  if (!same) return open_for(a, miss_same_word);
  if (*same) return kept_with_it(a);
  const auto whole = a.hit(miss_whole_sector);
  if (!whole) return open_for(a, miss_whole_sector);
  for (const std::string_view label : {miss_other_word, miss_other_sector}) {
    if (!is_asked(a, label)) continue;
    const auto other = a.hit(label);
    if (!other) return open_for(a, label);
    if (*other) return contradicting(miss_same_word, label);
  }
  return decided(*whole ? "full_sector" : "none", stores_method, a.samples());
}

DecidingCurve stores_curve(std::string_view memory, std::string_view quantity, const StoreAnswers& answers,
                           bool of_hits) {
  DecidingCurve curve = make_curve(memory, quantity, {"latency as timed", "cycles", false}, share_axis("loads"));
  for (std::size_t i = 0; i < answers.cases.size(); ++i) {
    const StoreCase& c = answers.cases[i];
    const bool is_control = c.label == control_loaded || c.label == control_cold;
    if (is_control || c.is_hit == of_hits) curve.series.push_back(share_up_to(std::string(c.label), answers.timed[i]));
  }
  return curve;
}

}  // namespace gputopo::evidence
