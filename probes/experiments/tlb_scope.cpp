// Which SMs find in an SM's TLB what another one brought back there.
#include "experiments/tlb_scope.hpp"

#include "evidence/inference/estimates.hpp"
#include "experiments/sharers.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;

constexpr std::string_view tlb_scope_method = "warming_by_other_sms";

class TlbScope {
 public:
  TlbScope(Pages& pages, const TlbLevels& levels, std::size_t level)
      : pages_(pages),
        drop_(levels.plateaus[level].typical),
        drop_nearer_(level > 1 ? levels.plateaus[level - 1].typical : 0),
        found_below_((levels.plateaus[level - 1].cycles + levels.plateaus[level].cycles) / 2),
        looks_(is_plain(levels, level) ? 7 : 11) {}

  // Counts looks that found it.
  Expected<std::vector<Tally>> against(std::uint32_t first, const SmSets& sets) {
    constexpr int most_rounds = 6;
    constexpr double plainly = 0.9;  // where that share tells the controls apart one round does
    std::vector<Tally> all;
    for (int round = 0; round < most_rounds; ++round) {
      auto more = look_at(first, sets);
      if (!more) return more;
      all.resize(more->size());
      for (std::size_t i = 0; i < all.size(); ++i) all[i] += (*more)[i];
      if (all[sets.size()].share() - all.back().share() > plainly) break;
    }
    return all;
  }

 private:
  // Whether single looks tell the level from the one in front: twice as far as what is told apart at all.
  static bool is_plain(const TlbLevels& levels, std::size_t level) {
    return levels.plateaus[level].cycles - levels.plateaus[level - 1].cycles > 8 * levels.noise_cycles;
  }

  Expected<std::vector<Tally>> look_at(std::uint32_t first, const SmSets& sets) {
    std::vector<PageProgram> programs;
    for (const auto& others : sets) programs.push_back(program(first, others, line));
    programs.push_back(program(first, {}, line));
    programs.push_back(program(first, sets.front(), pages_.margin()));
    programs.push_back(at_hand(pages_, first, line));
    auto seen = pages_.run(programs, looks_);
    if (!seen) return tl::unexpected<Error>(seen.error());
    // Whatever was lost from a further level, too, and found there isn't here; what a nearer one still has is.
    const double found_below = middle_time(seen->back()) + found_below_;
    seen->pop_back();
    const bool tells = middle_time((*seen)[sets.size()]) < found_below && middle_time(seen->back()) >= found_below;
    std::vector<Tally> all;
    for (const auto& cycles : *seen) {
      Tally t{static_cast<double>(cycles.size()), 0};
      for (const double c : cycles) t.misses += c < found_below ? 1 : 0;
      all.push_back(tells ? t : Tally{});
    }
    return all;
  }

  static constexpr std::uint64_t line = 0;

  // The first SM loses a line's translation from the levels up to this one. Then the others (or else itself) lose what
  // they have in nearer levels, so that they ask this one, and touch `touched`.
  PageProgram program(std::uint32_t first, const std::vector<std::uint32_t>& others, std::uint64_t touched) const {
    std::vector<std::uint32_t> sms{first};
    sms.insert(sms.end(), others.begin(), others.end());
    return [this, sms, touched](std::uint64_t variant) {
      PageProbe probe(pages_.session().info(), sms);
      probe.touch(0, line).walk(0, pages_.spread_quickly(drop_, variant));
      // First all of them lose it: what one does so in may push out what another brought back.
      const std::uint32_t first_other = sms.size() == 1 ? 0 : 1;
      // So many places and the one that a look begins with (tlb_levels.cpp).
      for (std::uint32_t agent = first_other; agent < sms.size(); ++agent)
        probe.walk(agent, pages_.spread(drop_nearer_, variant + agent)).touch(agent, pages_.elsewhere(variant));
      for (std::uint32_t agent = first_other; agent < sms.size(); ++agent) probe.touch(agent, neighbour_of(touched));
      return probe.walk(0, pages_.spread(drop_nearer_, variant + sms.size())).look(line, pages_.elsewhere(variant));
    };
  }

  Pages& pages_;
  std::uint64_t drop_, drop_nearer_;
  double found_below_;  // more than where the translation is at hand
  std::size_t looks_;
};

}  // namespace

Expected<void> measure_tlb_scope(Pages& pages, const TlbLevels& levels, std::size_t level, Memory& memory) {
  constexpr std::size_t together = 8;
  TlbScope test(pages, levels, level);
  const std::uint64_t before = pages.samples();
  auto sharers = find_sharers(pages.session().info().gpu.sm_count, together,
                              [&](std::uint32_t first, const SmSets& sets) { return test.against(first, sets); });
  if (!sharers) return tl::unexpected<Error>(sharers.error());
  state_sharers(pages.session(), memory, *sharers, tlb_scope_method, pages.samples() - before,
                "share of looks that found it");
  return {};
}

}  // namespace gputopo::experiments
