#include "experiments/tlb_code.hpp"

#include <algorithm>

#include "evidence/inference/curves.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/inference/sameness.hpp"
#include "evidence/looks/structure.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;

constexpr std::string_view code_method = "jumps_after_eviction";
constexpr std::size_t looks = 48;
constexpr std::uint64_t least_page = 4096;

// A block of code that is jumped to after all other code pushed it out of code's caches.
class TlbCode {
 public:
  TlbCode(Pages& pages, const TlbLevels& levels, std::size_t level)
      : pages_(pages),
        drop_few_(levels.plateaus[level].typical),
        drop_(levels.plateaus[level].to),
        drop_nearer_(level > 1 ? levels.plateaus[level - 1].to : 0),
        data_drop_nearer_(levels.plateaus[level - 1].typical),
        nearer_cycles_(levels.plateaus[level - 1].cycles),
        more_cycles_(levels.plateaus[level].cycles - levels.plateaus[level - 1].cycles),
        behind_cycles_(levels.hot_cycles / 2) {}

  // Looks that found a translation lost from this level.
  struct Lost {
    Tally by_few;      // code's, after as many loads as push data's out where that typically lies
    Tally by_all;      // code's, after as many as push it out wherever it lies, if not out of the next level as well
    Tally data;        // after as many
    Tally by_nothing;  // code's, after such as push it out of nearer levels alone
  };
  // Nothing, but why, where these can't be told apart.
  Expected<std::optional<Lost>> lost() {
    auto in_caches = jumps(false, 0);
    if (!in_caches) return tl::unexpected<Error>(in_caches.error());
    auto at_hand = jumps(true, 0);
    if (!at_hand) return tl::unexpected<Error>(at_hand.error());
    const auto nothing = [&](const char* why) {
      why_open_ = why;
      return std::optional<Lost>();
    };
    if (near_time(*at_hand) - near_time(*in_caches) < behind_cycles_)
      return nothing("the code that there is stays in caches of its own, which may need no translation");
    // Loads themselves put the jump off by some cycles, a third of what a near miss costs: so as many here.
    auto after_none = jumps(true, drop_nearer_, drop_few_ - std::min(drop_few_, drop_nearer_));
    if (!after_none) return tl::unexpected<Error>(after_none.error());
    // What nearer TLBs' misses cost code, which may ask others than data does.
    const double reach = spread_time(*at_hand) + 1;
    const double nearer = mode_time(*after_none, reach).cycles - mode_time(*at_hand, reach).cycles;
    if (std::max(nearer, near_time(*after_none) - near_time(*at_hand)) >= nearer_cycles_ + more_cycles_ / 2)
      return nothing("what pushes code's translation out of nearer TLBs pushes it out of this one, too");
    auto after_few = jumps(true, drop_few_);
    if (!after_few) return tl::unexpected<Error>(after_few.error());
    auto after_all = jumps(true, drop_);
    if (!after_all) return tl::unexpected<Error>(after_all.error());
    auto data = pages_.run({data_program(drop_), data_program(data_drop_nearer_)}, looks);
    if (!data) return tl::unexpected<Error>(data.error());
    return std::optional(Lost{lost_translations(*after_few, *at_hand, nearer, more_cycles_),
                              lost_translations(*after_all, *at_hand, nearer, more_cycles_),
                              lost_translations((*data)[0], (*data)[1], 0, more_cycles_),
                              lost_translations(*after_none, *at_hand, nearer, more_cycles_)});
  }

  std::string_view why_open() const { return why_open_; }

 private:
  PageProgram data_program(std::uint64_t others) const {
    return [this, others](std::uint64_t variant) {
      PageProbe probe(pages_.session().info(), {0});
      return probe.touch(0, 0).walk(0, pages_.spread(others, variant)).look(0, pages_.elsewhere(variant));
    };
  }

  program::Program jump(bool is_lost, std::uint64_t others, std::uint64_t again, std::uint64_t variant) const {
    constexpr CachePath code{"tlb_code", program::Path::instruction, slot_code};
    const device::DeviceInfo& info = pages_.session().info();
    const std::uint64_t block = info.code_block_bytes;
    program::Program p = make_program("jumps past caches of code", info, slot_code);
    p.isolation = Scope::gpu;
    p.buffers[slot_pages].size_bytes = pages_.bytes();
    const auto whole_blocks = [&](std::uint64_t bytes) { return std::max<std::uint64_t>(1, bytes / block) * block; };
    const std::uint64_t part = whole_blocks(std::max<std::uint64_t>(1, info.code_bytes / 16 / least_page) * least_page);
    // Not the first block, which lies beside the walk's own code.
    program::Walk looked_at = make_walk(code, block, block, 1);
    looked_at.first_byte = part;
    // What a walk over code runs before its first jump has to be at hand when the one that counts begins, and so has
    // the page's translation, which other code may have pushed out: fetches bring along what lies behind, not before.
    program::Walk before = looked_at, all = looked_at;
    before.first_byte = part + whole_blocks(least_page / 2);
    all.first_byte = 2 * part;
    all.footprint_bytes = info.code_bytes - all.first_byte;
    all.laps = 2;
    p.phases = {looked_at, is_lost ? all : before, before};
    // And the page that a look at data begins with, some lines more: loads in any case, for in a kernel without them
    // code lies elsewhere, where jumps take longer or shorter.
    const std::uint64_t lines = std::min(1 + again, least_page / pages_.line_bytes());
    add_loads(p, pages_.spread(others, variant), 1);
    add_loads(p, {pages_.elsewhere(variant), pages_.line_bytes(), lines},
              static_cast<std::uint32_t>(1 + again / lines));
    p.phases.emplace_back(recorded(looked_at, program::Record::latencies, 1));
    return p;
  }

  static void add_loads(program::Program& p, const Others& places, std::uint32_t laps) {
    if (places.count == 0) return;
    program::Walk walk = make_walk(pages_path, places.count * places.stride_bytes, places.stride_bytes, laps);
    walk.first_byte = places.first_byte;
    p.phases.emplace_back(walk);
  }

  // Ascending.
  Expected<std::vector<double>> jumps(bool is_lost, std::uint64_t others, std::uint64_t again = 0) {
    program::Batch batch;
    for (std::size_t i = 0; i < looks; ++i) batch.push_back(jump(is_lost, others, again, pages_.samples() + i));
    auto traces = pages_.session().run(batch);
    if (!traces) return tl::unexpected<Error>(traces.error());
    std::vector<double> cycles;
    for (const auto& trace : *traces) cycles.push_back(trace.phases.back().latencies.front());
    std::sort(cycles.begin(), cycles.end());
    return cycles;
  }

  Pages& pages_;
  // Of code's translations none is known to lie where data's typically do.
  std::uint64_t drop_few_, drop_, drop_nearer_, data_drop_nearer_;
  double nearer_cycles_, more_cycles_, behind_cycles_;
  std::string_view why_open_;
};

}  // namespace

Expected<void> measure_tlb_code(Pages& pages, const TlbLevels& levels, std::size_t level, std::uint64_t l2_bytes,
                                Memory& memory) {
  const std::uint64_t walked_bytes = pages.session().info().code_bytes;
  if (walked_bytes == 0) return {};
  Statement& code = memory.structure["code"];
  if (walked_bytes < 4 * least_page) {
    code = undecided(code_method, "there is too little code to push any out of its caches");
    return {};
  }
  if (l2_bytes != 0 && 2 * walked_bytes > l2_bytes) {
    code = undecided(code_method, "what pushes code out of its caches may push it out of the L2 as well");
    return {};
  }
  TlbCode test(pages, levels, level);
  auto lost = test.lost();
  if (!lost) return tl::unexpected<Error>(lost.error());
  if (!*lost) {
    code = undecided(code_method, test.why_open());
    return {};
  }
  const auto& [by_few, by_all, data, by_nothing] = **lost;
  const auto few = static_cast<double>(levels.plateaus[level].typical);
  const auto places = static_cast<double>(levels.plateaus[level].to);
  DecidingCurve curve = make_curve(memory.id, "code", {"other places loaded in between", "", false},
                                   {"share of looks that found a translation lost", "", false});
  curve.series = {{"of code", {{0, by_nothing.share()}, {few, by_few.share()}, {places, by_all.share()}}},
                  {"of data (control)", {{0, 0}, {places, data.share()}}}};
  pages.session().keep(std::move(curve));
  // Many loads may push code out of a level that data find theirs in: whoever shares this one loses his to few as well.
  const Sameness by_most = sameness(by_all, data, by_nothing), at_once = sameness(by_few, data, by_nothing);
  // Loads put a jump off that loses nothing, too. But whatever else they do to it, a translation that lies among data's
  // is lost as often as those.
  constexpr double hardly = 0.01, surely = 0.9;
  const double is_same = probability_of_the_same_share(by_all, data, by_nothing);
  if (by_most.is_same() && at_once.is_same())
    code = decided("same", code_method, 5 * looks, by_most.sure());
  else if (data.share() < surely)
    // Code lies in one page: it may be of a set that these places leave alone as they do some of data's.
    code = undecided(code_method, "what pushes data's translations out doesn't do so surely");
  else if (by_most.is_apart() || (by_all.share() < data.share() && is_same < hardly))
    code = decided("apart", code_method, 5 * looks, by_most.is_apart() ? by_most.sure() : 1 - is_same);
  else
    code = undecided(code_method, "code loses its translation now and then, but not as data does");
  return {};
}

}  // namespace gputopo::experiments
