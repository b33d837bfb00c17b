#include "tests/sim/translation/found_translation.hpp"

#include <fmt/format.h>

#include "tests/sim/organisation/judged.hpp"

namespace gputopo::test {
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
    for (const char* name : {"textures", "code"}) {
      const auto true_text = is->structure.find(name), told = said->structure.find(name);
      if (true_text == is->structure.end()) continue;
      Found f{id, name, true_text->second.value, "", "", Answer::open};
      if (told != said->structure.end()) f.found = told->second.value, f.why = told->second.note;
      if (!f.found.empty()) f.answer = f.found == f.truth ? Answer::exact : Answer::wrong;
      all.push_back(f);
    }
  }
  return all;
}

}  // namespace gputopo::test
