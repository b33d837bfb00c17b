#include "tests/sim/organisation/judged.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace gputopo::test {

std::string text_of_number(const Estimate* e) {
  if (e == nullptr) return "nothing";
  if (!e->value) return std::string(to_string(e->status));
  return fmt::format("{} {}", to_string(e->status), *e->value);
}

Answer judged_size(double truth, const Estimate* said) {
  if (said == nullptr || said->status == Status::inconclusive) return Answer::open;
  if (!said->value) return Answer::wrong;
  if (said->status == Status::lower_bound) return *said->value <= truth ? Answer::open : Answer::wrong;
  if (said->status == Status::upper_bound) return *said->value >= truth ? Answer::open : Answer::wrong;
  if (said->status != Status::measured) return Answer::wrong;
  if (*said->value == truth) return Answer::exact;
  const bool holds = said->interval && said->interval->low <= truth && truth <= said->interval->high &&
                     said->interval->high - said->interval->low <= truth / 20;
  return holds ? Answer::exact : Answer::wrong;
}

Answer judged_penalty(double truth, const Estimate* said) {
  if (said == nullptr || said->status == Status::inconclusive) return Answer::open;
  if (said->status != Status::measured || !said->value) return Answer::wrong;
  return std::fabs(*said->value - truth) <= std::max(1.5, 0.03 * truth) ? Answer::exact : Answer::wrong;
}

Answer judged_scope(const Memory& truth, const Memory& found) {
  if (!found.scope) return Answer::open;
  auto is = truth.sm_groups, said = found.sm_groups;
  for (auto* groups : {&is, &said}) {
    for (auto& group : *groups) std::sort(group.begin(), group.end());
    std::sort(groups->begin(), groups->end());
  }
  return *truth.scope == *found.scope && is == said ? Answer::exact : Answer::wrong;
}

std::string scope_of(const Memory& memory) {
  return memory.scope ? fmt::format("{} ({} groups)", to_string(*memory.scope), memory.sm_groups.size()) : "nothing";
}

}  // namespace gputopo::test
