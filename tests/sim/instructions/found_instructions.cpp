#include "tests/sim/instructions/found_instructions.hpp"

#include <cmath>

#include <fmt/format.h>

#include "tests/sim/organisation/judged.hpp"

namespace gputopo::test {
namespace {

// To 3 %, as every time.
Answer judged_rate(double truth, const Estimate* said) {
  constexpr double near = 0.03;
  if (said == nullptr || said->status == Status::inconclusive) return Answer::open;
  if (!said->value) return Answer::wrong;
  if (said->status == Status::lower_bound) return *said->value <= truth * (1 + near) ? Answer::open : Answer::wrong;
  return said->status == Status::measured && std::fabs(*said->value - truth) <= near * truth ? Answer::exact
                                                                                             : Answer::wrong;
}

void add_fetch(const Memory& is, const Memory& said, std::vector<Found>& all) {
  for (const char* name : {"fetch_bandwidth", "shared_fetch_bandwidth"}) {
    const Estimate* rate = said.find(name);
    if (const Estimate* truth = is.find(name))
      all.push_back({said.id, name, fmt::format("{}", *truth->value), text_of_number(rate),
                     rate == nullptr ? "" : rate->note, judged_rate(*truth->value, rate)});
  }
}

const std::vector<std::string> ids{"instruction_l0", "instruction_l1", "instruction_l1_5", "instruction_l2"};

void add_instructions(const Memory* is, const Memory& said, std::vector<Found>& all) {
  for (const char* name : {"size", "line_size", "sector_size", "latency", "miss_penalty"}) {
    const Estimate* number = said.find(name);
    const Estimate* truth = is == nullptr ? nullptr : is->find(name);
    const std::string why = number == nullptr ? "" : number->note;
    if (truth == nullptr) {
      if (number != nullptr && number->value)
        all.push_back({said.id, name, "nothing", text_of_number(number), why, Answer::wrong});
      continue;
    }
    const bool is_time = truth->unit == "cycles";
    all.push_back({said.id, name, fmt::format("{}", *truth->value), text_of_number(number), why,
                   is_time ? judged_penalty(*truth->value, number) : judged_size(*truth->value, number)});
  }
}

void add_text(const Memory& is, const Memory& said, const char* about, std::vector<Found>& all) {
  const auto truth = is.structure.find(about), found = said.structure.find(about);
  if (truth == is.structure.end()) return;
  Found f{said.id, about, truth->second.value, "nothing", "", Answer::open};
  if (found != said.structure.end()) {
    f.why = found->second.note;
    if (found->second.status == Status::measured) {
      f.found = found->second.value;
      f.answer = f.found == f.truth ? Answer::exact : Answer::wrong;
    }
  }
  all.push_back(std::move(f));
}

}  // namespace

Topology discovered_instructions(const sim::Model& model) {
  return discovered_deep(model, ids);
}

std::vector<Found> instructions_found(const sim::Model& model, const Topology& topology) {
  Topology truth;
  truth.memories.emplace_back().id = "l2";
  sim::add_instructions(model, truth);
  std::vector<Found> all;
  for (const std::string& id : ids) {
    const Memory* is = truth.find(id);
    const Memory* said = topology.find(id);
    if (said == nullptr) {
      if (is != nullptr) all.push_back({id, "cache", "there", "nothing", "", Answer::open});
      continue;
    }
    add_instructions(is, *said, all);
    if (is == nullptr) continue;
    add_fetch(*is, *said, all);
    all.push_back({id, "scope", scope_of(*is), scope_of(*said), "", judged_scope(*is, *said)});
    if (is->scope == Scope::sm && !is->find("latency")) add_text(*is, *said, "instances_per_scope", all);
    add_organisation_found(*is, *said, all);
    add_text(*is, *said, "constants", all);
    add_text(*is, *said, "physical_cache", all);
  }
  if (const Memory* l2 = topology.find("l2")) add_fetch(*truth.find("l2"), *l2, all);
  return all;
}

}  // namespace gputopo::test
