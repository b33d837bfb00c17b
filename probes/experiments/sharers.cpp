#include "experiments/sharers.hpp"

#include <algorithm>
#include <numeric>

namespace gputopo::experiments {
namespace {

using evidence::Sameness;
using evidence::SmSets;

// Each SM alone needs no more than a look from both ends of the chip: a cache that some SMs shared would be shared by
// these, since every instance serves as many, give or take what is switched off.
constexpr std::size_t lone_sms_that_decide = 2;

// Give or take what is switched off, and a last one that there are too few SMs for: most have more than half of what
// the largest has. A few SMs together among many that are alone are those whose lines something else pushed out.
bool serve_as_many(const SmSets& groups) {
  std::size_t most = 0, large = 0;
  for (const auto& g : groups) most = std::max(most, g.size());
  for (const auto& g : groups) large += 2 * g.size() > most ? 1 : 0;
  return 2 * large >= groups.size();
}

SmSets in_parts(const std::vector<std::uint32_t>& sms, std::size_t together) {
  SmSets parts;
  for (std::size_t i = 0; i < sms.size(); i += together)
    parts.emplace_back(sms.begin() + static_cast<std::ptrdiff_t>(i),
                       sms.begin() + static_cast<std::ptrdiff_t>(std::min(i + together, sms.size())));
  return parts;
}

// The SMs that share with `first`, itself included.
Expected<std::vector<std::uint32_t>> sharers_of(std::uint32_t first, SmSets open, const LostTo& lost_to, Sharers& all) {
  constexpr int most_looks = 3;  // at one other: a stranger among lines that are all there or all gone leaves it open
  std::vector<std::uint32_t> found{first};
  evidence::Asked& asked = all.asked.emplace_back();
  asked.first = first;
  for (int looks = 1; !open.empty();) {
    auto seen = lost_to(first, open);
    if (!seen) return tl::unexpected<Error>(seen.error());
    SmSets next, unclear;
    asked.to_itself = (*seen)[open.size()].share();
    asked.to_nobody = (*seen)[open.size() + 1].share();
    for (std::size_t i = 0; i < open.size(); ++i) {
      for (const std::uint32_t sm : open[i]) asked.lost_to[sm] = (*seen)[i].share();
      const Sameness s = evidence::sameness((*seen)[i], (*seen)[open.size()], (*seen)[open.size() + 1]);
      if (s.decided) all.sure = std::min(all.sure, s.sure());
      if (s.is_apart()) continue;
      if (open[i].size() > 1) {
        for (const std::uint32_t sm : open[i]) next.push_back({sm});
      } else if (s.is_same()) {
        found.push_back(open[i].front());
      } else {
        unclear.push_back(open[i]);
      }
    }
    looks = unclear.empty() || !next.empty() ? 1 : looks + 1;
    if (looks > most_looks) {
      all.has_problem = true;
      break;
    }
    open = std::move(next);
    open.insert(open.end(), unclear.begin(), unclear.end());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

Expected<Sharers> find_sharers(std::uint32_t sms, std::size_t together, const LostTo& lost_to) {
  Sharers all;
  std::vector<std::uint32_t> open(sms);
  std::iota(open.begin(), open.end(), 0U);
  bool from_the_end = false;
  while (!open.empty()) {
    const std::uint32_t first = from_the_end ? open.back() : open.front();
    from_the_end = !from_the_end;
    std::erase(open, first);
    auto group = sharers_of(first, in_parts(open, together), lost_to, all);
    if (!group) return tl::unexpected<Error>(group.error());
    for (const std::uint32_t sm : *group) std::erase(open, sm);
    all.groups.push_back(*group);
    const bool all_alone =
        std::all_of(all.groups.begin(), all.groups.end(), [](const auto& g) { return g.size() == 1; });
    if (all.has_problem) break;
    if (all_alone && all.groups.size() >= lone_sms_that_decide) {
      for (const std::uint32_t sm : open) all.groups.push_back({sm});
      break;
    }
  }
  std::sort(all.groups.begin(), all.groups.end());
  all.has_problem = all.has_problem || !serve_as_many(all.groups);
  return all;
}

void state_sharers(evidence::Session& session, Memory& memory, const Sharers& sharers, std::string_view method,
                   std::uint64_t samples, std::string_view counted) {
  session.keep(evidence::asked_curve(memory.id, "scope", "SM", counted, sharers.asked));
  if (sharers.has_problem)
    evidence::leave_scope_open(memory, method,
                               "other SMs push out some of what an SM loaded, but not as one on the same cache would");
  else
    evidence::set_scope(memory, sharers.groups, method, samples, sharers.sure);
}

}  // namespace gputopo::experiments
