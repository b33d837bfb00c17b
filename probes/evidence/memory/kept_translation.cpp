#include "evidence/memory/kept_translation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "change_point/robust.hpp"
#include "evidence/memory/cold_memory.hpp"

namespace gputopo::evidence {
namespace {

constexpr std::uint64_t large_page = 64 << 10;    // the smallest that GPUs are known to give device memory
constexpr std::uint64_t smallest_page = 4 << 10;  // and that any could
constexpr std::uint64_t places_apart = 4 * large_page;

// Right before a line is looked at: a load of its smallest page, of its large one, or of none.
enum Before : std::size_t { own_page, own_large_page, nothing, ways_to_look };
constexpr std::uint64_t looked_at = 16;  // lines of each: few, of an L2 that loses them at random

// Another SM that finds near what SM 0 does, and as far from it as can be, so that neither knows the other's
// translations; SM 0 itself where nobody can know of one.
std::uint32_t other_sm(const Session& session, const Findings& findings) {
  const bool are_sets_known = findings.l2_sets && findings.l2_sets->why_open.empty();
  if (!are_sets_known) return findings.may_lines_be_far() ? 0 : session.info().gpu.sm_count - 1;
  for (const auto& set : findings.l2_sets->sets)
    if (std::find(set.begin(), set.end(), 0U) != set.end()) return *std::max_element(set.begin(), set.end());
  return 0;
}

// In the room that is cold, all over the sets of the L2, each in the lower half of its smallest page: what is fetched
// ahead of a load in the upper half isn't looked at.
std::uint64_t place(std::uint64_t i) {
  return i * places_apart + i * 5 % 8 * smallest_page + i * 3 % 16 * 128;
}

std::uint64_t looked(Before before, std::uint64_t i) {
  return place(i * ways_to_look + before);
}

// Looks at lines that another SM brought, with one line of so many other pages in between: TLBs may be both SMs'.
program::Program looks_after_pages(const ColdMemory& cold, const Session& session, std::uint32_t other,
                                   std::uint64_t flush_bytes, std::uint64_t pages) {
  program::Program p = cold.program(fmt::format("translation of cold memory after {} pages", pages));
  p.agents.push_back({other, 0});
  p.phases = {by_all_lanes(make_walk(l2_path, flush_bytes, smallest_page, 1), session.info())};
  for (std::uint64_t i = 0; i < looked_at * ways_to_look; ++i) {
    program::Walk bring = cold.load(place(i));
    bring.agent = 1;
    p.phases.emplace_back(bring);
  }
  constexpr std::uint64_t stride = smallest_page + 128;
  if (pages != 0) p.phases.emplace_back(make_walk(l2_path, pages * stride, stride, 1));
  for (std::uint64_t i = 0; i < looked_at; ++i) {
    p.phases.emplace_back(cold.load(looked(own_page, i) + smallest_page / 2));
    cold.look_twice(p, looked(own_page, i));
    p.phases.emplace_back(cold.load(looked(own_large_page, i) ^ large_page / 2));
    cold.look_twice(p, looked(own_large_page, i));
    cold.look_twice(p, looked(nothing, i));
  }
  return p;
}

// The share that was lost, as to what an L2 fetches far ahead, of lines whose translation is surely there.
double lost_share(const ColdMemory::Pairs& looks) {
  const auto lost = std::count_if(looks.begin(), looks.end(),
                                  [](const auto& look) { return look.first > ColdMemory::most_longer * look.second; });
  return static_cast<double>(lost) / static_cast<double>(std::max<std::size_t>(1, looks.size()));
}

using LooksByWay = std::array<ColdMemory::Pairs, ways_to_look>;

enum class Kept { yes, no, unsure };

// Whether a load of its large page leaves a line as near as one of its own page does, which the L2 may have lost as
// well. Where it doesn't all are late, but those that the L2 lost.
Kept kept_by(const LooksByWay& looks) {
  constexpr double deviations = 3, hardly_one = 1, some = 1.0 / 3;
  const auto own = ColdMemory::longer_of(looks[own_page]), large = ColdMemory::longer_of(looks[own_large_page]);
  const double more = (large.first - large.second) - (own.first - own.second);
  if (more <= hardly_one) return Kept::yes;
  const double by_chance = std::sqrt(large.first + large.second + own.first + own.second);
  if (more > deviations * by_chance) return Kept::no;
  const double most = more + deviations * by_chance;
  return most < some * static_cast<double>(looks[own_large_page].size()) ? Kept::yes : Kept::unsure;
}

// Looks after so many pages, again while they leave it unsure. Nothing where a neighbour leaves no time for them.
Expected<std::optional<LooksByWay>> look_after(ColdMemory& cold, const program::Program& program) {
  constexpr std::size_t most_times = 12;
  LooksByWay looks;
  for (std::size_t n = 0; n < most_times; ++n) {
    auto traces = cold.run({program});
    if (!traces) return tl::unexpected<Error>(traces.error());
    if (!*traces) return std::optional<LooksByWay>();
    const ColdMemory::Pairs pairs = ColdMemory::pairs_of((*traces)->back().phases);
    for (std::size_t i = 0; i < pairs.size(); ++i) looks[i % ways_to_look].push_back(pairs[i]);
    if (kept_by(looks) != Kept::unsure) break;
  }
  return std::optional(std::move(looks));
}

// As many other pages as leave the L2 the lines that were brought, and fewer where it fetches ahead, or loses lines at
// random: those whose own page was just loaded say whether it still has them. Nothing where it never does: what the
// other SM brought may lie in another L2.
Expected<std::optional<KeptTranslation>> ask(Session& session, const Findings& findings, const CacheFacts& memory,
                                             std::uint32_t other) {
  constexpr std::uint64_t enough = 16384, fewer = 8, longest_line = 256, most_bytes = 8192;
  const std::uint64_t l2 = findings.near_l2_bytes(session.info()).value_or(0);
  const std::uint64_t kept = l2 == 0 ? enough : l2 / longest_line / 4;
  ColdMemory cold(session, memory.capacity_bytes, looked_at * ways_to_look * places_apart);
  if (!cold.fits()) return std::optional(KeptTranslation{});
  // Where half of them are left their median may be one of a line that is gone, by chance: most have to be, at as few
  // pages as that takes; where they never are, as many as half at the most pages.
  constexpr double half = 0.5, most_left = 0.25;
  std::optional<KeptTranslation> found;
  for (std::uint64_t pages = std::min({enough, kept, memory.capacity_bytes / most_bytes});; pages /= fewer) {
    auto seen = look_after(cold, looks_after_pages(cold, session, other, memory.capacity_bytes, pages));
    if (!seen) return tl::unexpected<Error>(seen.error());
    if (!*seen) return std::optional(KeptTranslation{});
    const LooksByWay& looks = **seen;
    const double lost = lost_share(looks[own_page]);
    if (lost <= half && (!found || lost <= most_left)) {
      std::vector<double> missing;
      for (const auto& [first, second] : looks[nothing]) missing.push_back(first);
      const Kept kept = kept_by(looks);
      found = KeptTranslation{kept == Kept::unsure ? std::nullopt : std::optional(kept == Kept::yes),
                              change_point::median(std::move(missing))};
    }
    if (lost <= most_left || pages == 0) return found;
  }
}

}  // namespace

Expected<KeptTranslation> kept_translation(Session& session, Findings& findings) {
  const CacheFacts* memory = findings.cache("device_memory");
  if (findings.kept_translation || memory == nullptr) return findings.kept_translation.value_or(KeptTranslation{});
  const std::uint32_t other = other_sm(session, findings);
  auto kept = ask(session, findings, *memory, other);
  if (kept && !*kept && other != 0) kept = ask(session, findings, *memory, 0);
  if (!kept) return tl::unexpected<Error>(kept.error());
  findings.kept_translation = kept->value_or(KeptTranslation{});
  return *findings.kept_translation;
}

std::optional<std::string_view> why_untranslated(std::optional<bool> are_alike) {
  if (!are_alike) return "whether TLBs keep so many pages can't be told: too few lines were looked at undisturbed";
  if (!*are_alike) return "translation takes a part in it: TLBs don't keep so many pages";
  return std::nullopt;
}

Expected<std::optional<std::string_view>> why_untranslated(Session& session, Findings& findings) {
  const auto kept = kept_translation(session, findings);
  if (!kept) return tl::unexpected<Error>(kept.error());
  return why_untranslated(kept->in_a_large_page);
}

}  // namespace gputopo::evidence
