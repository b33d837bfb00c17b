#include "tests/sim/translation/found_translation.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace gputopo::test {
namespace {

std::string text_of_number(const Estimate* e) {
  if (e == nullptr) return "nothing";
  if (!e->value) return std::string(to_string(e->status));
  return fmt::format("{} {}", to_string(e->status), *e->value);
}

// A size to the byte, or an interval of a twentieth that holds it; a bound on its side.
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

// To 1.5 cycles or 3 %, as every penalty (docs/domain.md).
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

}  // namespace

Topology discovered_translation(const sim::Model& model) {
  return discovered_deep(model, {"tlb_l1", "tlb_l2", "tlb_l3"});
}

std::vector<Found> translation_found(const sim::Model& model, const Topology& topology) {
  Topology truth;
  sim::add_translation(model, truth);
  std::vector<Found> all;
  for (const char* id : {"tlb_l1", "tlb_l2", "tlb_l3"}) {
    const Memory* is = truth.find(id);
    const Memory* said = topology.find(id);
    if (said == nullptr) continue;
    const auto why = [&](const char* name) { return said->find(name) == nullptr ? "" : said->find(name)->note; };
    for (const char* name : {"size", "entries", "entry_size", "miss_penalty"}) {
      const Estimate* number = said->find(name);
      if (is == nullptr) {
        if (number != nullptr && number->value)
          all.push_back({id, name, "nothing", text_of_number(number), why(name), Answer::wrong});
        continue;
      }
      const double true_value = *is->find(name)->value;
      all.push_back({id, name, fmt::format("{}", true_value), text_of_number(number), why(name),
                     std::string_view(name) == "miss_penalty" ? judged_penalty(true_value, number)
                                                              : judged_size(true_value, number)});
    }
    if (is == nullptr) continue;
    add_organisation_found(*is, *said, all);
    const auto scope = said->structure.find("scope");
    all.push_back({id, "scope", scope_of(*is), scope_of(*said),
                   scope == said->structure.end() ? "" : scope->second.note, judged_scope(*is, *said)});
  }
  return all;
}

}  // namespace gputopo::test
