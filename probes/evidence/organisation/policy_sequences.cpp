#include "evidence/organisation/policy_sequences.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "evidence/inference/curves.hpp"
#include "evidence/looks/structure.hpp"

namespace gputopo::evidence {
namespace {

// Strangers among the loads make one in twenty wrong at most.
bool is_as_predicted(const SequenceMisses& s, std::size_t policy) {
  return static_cast<double>(s.wrong[policy]) <= 0.05 * static_cast<double>(s.loads) + 1;
}

std::vector<bool> misses_of(Policy policy, std::uint32_t ways, std::span<const std::uint32_t> sequence) {
  PolicySet set(policy, ways);
  // Which way a set without lines fills first isn't known; which one a full set gives up is what the policy says.
  constexpr std::uint64_t strangers = std::uint64_t{1} << 32U;
  for (std::uint32_t i = 0; i < ways; ++i) set.load(strangers + i);
  std::vector<bool> missed;
  for (const std::uint32_t line : sequence) missed.push_back(set.load(line));
  return missed;
}

constexpr std::uint32_t rounds = 8;

std::vector<std::uint32_t> in_turn(std::uint32_t lines) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < rounds * lines; ++i) all.push_back(i % lines);
  return all;
}

// All lines and up to as many of them again in an order drawn, round and round.
std::vector<std::uint32_t> repeated_draw(std::uint32_t lines, std::mt19937& draw) {
  std::vector<std::uint32_t> round(lines + draw() % (lines + 1));
  for (std::uint32_t i = 0; i < round.size(); ++i) {
    round[i] = i < lines ? i : static_cast<std::uint32_t>(draw() % lines);
    std::swap(round[i], round[draw() % (i + 1)]);
  }
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < rounds; ++i) all.insert(all.end(), round.begin(), round.end());
  return all;
}

std::uint64_t misses_from(const std::vector<bool>& missed, std::size_t from) {
  return static_cast<std::uint64_t>(std::count(missed.begin() + static_cast<std::ptrdiff_t>(from), missed.end(), true));
}

}  // namespace

std::vector<std::vector<std::uint32_t>> telling_sequences(std::uint32_t lines) {
  constexpr int draws = 300;
  std::vector<std::vector<std::uint32_t>> all{in_turn(lines)};
  std::array<std::uint64_t, known_policies.size()> most{};  // of the pair that lacks the one of this number
  all.resize(1 + most.size(), all.front());
  std::mt19937 draw(lines);
  for (int i = 0; i < draws; ++i) {
    const auto drawn = repeated_draw(lines, draw);
    const auto lost = misses_by_count(lines - 1, drawn, drawn.size() / 2, 0, 0).predicted;
    for (std::size_t k = 0; k < most.size(); ++k) {
      const std::uint64_t one = lost[(k + 1) % lost.size()], other = lost[(k + 2) % lost.size()];
      const std::uint64_t apart = std::max(one, other) - std::min(one, other);
      if (apart <= most[k]) continue;
      most[k] = apart;
      all[1 + k] = drawn;
    }
  }
  return all;
}

SequenceMisses misses_by_load(std::uint32_t ways, std::span<const std::uint32_t> sequence, std::size_t from,
                              const std::vector<bool>& missed) {
  const std::uint64_t found = misses_from(missed, from);
  SequenceMisses s = misses_by_count(ways, sequence, from, found, found);
  for (std::size_t k = 0; k < known_policies.size(); ++k) {
    const std::vector<bool> would = misses_of(known_policies[k].first, ways, sequence);
    s.wrong[k] = 0;
    for (std::size_t i = from; i < sequence.size(); ++i) s.wrong[k] += would[i] != missed[i] ? 1 : 0;
  }
  return s;
}

SequenceMisses misses_by_count(std::uint32_t ways, std::span<const std::uint32_t> sequence, std::size_t from,
                               std::uint64_t found, std::uint64_t least) {
  SequenceMisses s;
  s.loads = sequence.size() - from;
  s.found = found;
  for (std::size_t k = 0; k < known_policies.size(); ++k) {
    s.predicted[k] = misses_from(misses_of(known_policies[k].first, ways, sequence), from);
    const bool are_fewer = least < s.predicted[k];  // others only add
    s.wrong[k] = are_fewer ? s.loads : std::max(found, s.predicted[k]) - std::min(found, s.predicted[k]);
  }
  return s;
}

SequenceMisses best_explained(std::span<const SequenceMisses> looks) {
  const auto least_wrong = [](const SequenceMisses& s) { return *std::min_element(s.wrong.begin(), s.wrong.end()); };
  return *std::min_element(looks.begin(), looks.end(), [&](const SequenceMisses& one, const SequenceMisses& other) {
    return least_wrong(one) < least_wrong(other);
  });
}

bool PolicyVote::add(std::vector<SequenceMisses> set) {
  std::array<bool, known_policies.size()> fits{true, true, true};
  bool tree_is_lru = true;  // as it is of two ways
  for (const SequenceMisses& s : set) {
    for (std::size_t k = 0; k < fits.size(); ++k) fits[k] = fits[k] && is_as_predicted(s, k);
    tree_is_lru = tree_is_lru && s.predicted[2] == s.predicted[0];
  }
  fits[2] = fits[2] && !tree_is_lru;
  const bool is_explained = std::count(fits.begin(), fits.end(), true) == 1;
  const bool is_first = std::count(explained_.begin(), explained_.end(), 0U) == std::ssize(explained_);
  if (shown_.empty() || (is_explained && is_first)) shown_ = std::move(set);
  for (std::size_t k = 0; is_explained && k < fits.size(); ++k) explained_[k] += fits[k] ? 1 : 0;
  ++sets_;
  return is_explained;
}

Statement PolicyVote::statement(std::string_view method, std::uint64_t samples) const {
  std::array<std::vector<std::uint64_t>, known_policies.size()> predicted;
  std::vector<std::uint64_t> found;
  for (const SequenceMisses& s : shown_) {
    found.push_back(s.found);
    for (std::size_t k = 0; k < predicted.size(); ++k) predicted[k].push_back(s.predicted[k]);
  }
  const std::string how = fmt::format(
      "in turn, and in three orders by which two of the policies each differ most, a set's {} lines lose {} (LRU {}, "
      "first in first out {}, a tree of bits {})",
      lines_, fmt::join(found, ", "), fmt::join(predicted[0], ", "), fmt::join(predicted[1], ", "),
      fmt::join(predicted[2], ", "));
  const auto most = std::max_element(explained_.begin(), explained_.end());
  const std::size_t others = std::accumulate(explained_.begin(), explained_.end(), std::size_t{0}) - *most;
  if (*most < std::min<std::size_t>(2, sets_) || *most == 0 || others != 0)
    return undecided(method, fmt::format("LRU, first in first out and a tree of bits alone explain {} of {} sets: {}",
                                         fmt::join(explained_, ", "), sets_, how));
  Statement s =
      decided(std::string(known_policies[static_cast<std::size_t>(most - explained_.begin())].second), method, samples);
  s.note = fmt::format("{}; so in {} of {} sets, the others as none of these", how, *most, sets_);
  return s;
}

DecidingCurve PolicyVote::curve(std::string_view memory) const {
  DecidingCurve curve =
      make_curve(memory, "replacement", {"sequence of a set's lines", "", false}, {"loads that miss", "", false});
  const auto add = [&](std::string label, auto count_of) {
    Series series{std::move(label), {}};
    for (std::size_t i = 0; i < shown_.size(); ++i)
      series.points.emplace_back(static_cast<double>(i + 1), static_cast<double>(count_of(shown_[i])));
    curve.series.push_back(std::move(series));
  };
  add("found", [](const SequenceMisses& s) { return s.found; });
  for (std::size_t k = 0; k < known_policies.size(); ++k)
    add(fmt::format("{} would lose", known_policies[k].second),
        [k](const SequenceMisses& s) { return s.predicted[k]; });
  return curve;
}

}  // namespace gputopo::evidence
