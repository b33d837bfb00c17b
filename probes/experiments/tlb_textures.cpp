#include "experiments/tlb_textures.hpp"

#include <algorithm>
#include <array>

#include "evidence/inference/curves.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/inference/sameness.hpp"
#include "evidence/looks/structure.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;

constexpr std::string_view textures_method = "eviction_by_textures";

// Bytes that one texture covers.
std::uint64_t texture_reach(const device::DeviceInfo& info) {
  constexpr std::uint64_t word_bytes = 4;
  return word_bytes * info.texture_elements;
}

// The memory's first line, and places of a texture behind it, an entry each.
class TlbTextures {
 public:
  TlbTextures(Pages& pages, std::uint64_t places, std::uint64_t entry_bytes, std::uint64_t drop_nearer)
      : pages_(pages), entry_bytes_(entry_bytes), drop_nearer_(drop_nearer), places_(places) {}

  // Looks that found the line's translation lost after loads of a path, or after none.
  Expected<std::array<Tally, 3>> lost(double nearer_cycles, double cycles) {
    constexpr std::size_t looks = 24;
    auto seen = pages_.run({program(program::Path::texture, places_), program(program::Path::global_l2_only, places_),
                            program(program::Path::texture, 0), at_hand(pages_, 0, line)},
                           looks);
    if (!seen) return tl::unexpected<Error>(seen.error());
    std::array<Tally, 3> all;
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = lost_translations((*seen)[i], seen->back(), nearer_cycles, cycles);
    return all;
  }

 private:
  static constexpr std::uint64_t line = 0;

  // Touched, then lost from nearer levels, and in between `others` by a path.
  PageProgram program(program::Path path, std::uint64_t others) const {
    return [this, path, others](std::uint64_t variant) {
      // Each time in other lines, which no cache has.
      const std::uint64_t shift = static_cast<std::uint64_t>(even_place(variant) * static_cast<double>(entry_bytes_)) /
                                  pages_.line_bytes() * pages_.line_bytes();
      PageProbe probe(pages_.session().info(), {0});
      probe.touch(0, line).touch(0, neighbour_of(line));
      // One texture doesn't reach over all of them: those of each by themselves, whatever the path.
      const std::uint64_t reach = texture_reach(pages_.session().info());
      for (std::uint64_t i = 0; i < others;) {
        const std::uint64_t first = (i + 1) * entry_bytes_ + shift;
        const std::uint64_t left = ((first / reach + 1) * reach - first + entry_bytes_ - 1) / entry_bytes_;
        const std::uint64_t count = std::min(left, others - i);
        probe.walk(0, {first, entry_bytes_, count, 1, path});
        i += count;
      }
      return probe.walk(0, pages_.spread(drop_nearer_, variant)).look(line, pages_.elsewhere(variant));
    };
  }

  Pages& pages_;
  std::uint64_t entry_bytes_, drop_nearer_, places_;
};

}  // namespace

Expected<void> measure_tlb_textures(Pages& pages, const TlbLevels& levels, std::size_t level, std::uint64_t entries,
                                    std::uint64_t entry_bytes, Memory& memory) {
  if (texture_reach(pages.session().info()) == 0) return {};
  Statement& textures = memory.structure["textures"];
  if (entries == 0 || entry_bytes == 0) {
    textures = undecided(textures_method, "needs the entries and what one covers");
    return {};
  }
  // A third more than there are entries, whatever is left of others; the first and the last aren't whole.
  const std::uint64_t places = entries + entries / 3 + 2;
  if ((places + 2) * entry_bytes > pages.bytes()) {
    textures = undecided(textures_method, "memory isn't larger than what its entries cover by a third");
    return {};
  }
  // A nearer TLB may not be the textures' own, and would still have what these push out of this one.
  TlbTextures test(pages, places, entry_bytes, level > 1 ? levels.plateaus[level - 1].typical : 0);
  const std::uint64_t before = pages.samples();
  auto lost =
      test.lost(levels.plateaus[level - 1].cycles, levels.plateaus[level].cycles - levels.plateaus[level - 1].cycles);
  if (!lost) return tl::unexpected<Error>(lost.error());
  const auto& [by_textures, by_loads, by_nothing] = *lost;
  DecidingCurve curve = lost_to_curve(memory.id, "textures");
  const auto bytes = static_cast<double>(places * entry_bytes);
  const std::array none{by_nothing};
  add_lost_to(curve, {"to texture loads", bytes, {by_textures}}, none);
  add_lost_to(curve, {"to global loads (control)", bytes, {by_loads}}, none);
  pages.session().keep(std::move(curve));
  const Sameness s = sameness(by_textures, by_loads, by_nothing);
  textures = s.decided
                 ? decided(std::string(verdict_of(s)), textures_method, pages.samples() - before, s.sure())
                 : undecided(textures_method, "texture loads push it out now and then, but not as global loads do");
  return {};
}

}  // namespace gputopo::experiments
