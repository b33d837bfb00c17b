#include "found.hpp"

#include <stdexcept>

#include <fmt/format.h>

#include "device/sim/sim_device.hpp"
#include "experiments/discover.hpp"
#include "tests/recorded/experiments/without_curve.hpp"

namespace gputopo::test {
namespace {

std::string number(const Estimate& e) {
  if (!e.value) return std::string(to_string(e.status));
  if (!e.interval || e.interval->low == e.interval->high) return fmt::format("{}", *e.value);
  return fmt::format("{} [{}, {}]", *e.value, e.interval->low, e.interval->high);
}

Answer judged(const Estimate& truth, const Estimate* found) {
  if (found == nullptr || found->status == Status::inconclusive) return Answer::open;
  // A bound on the right side is no answer, and not wrong.
  if (found->status == Status::lower_bound && found->value)
    return *found->value <= *truth.value ? Answer::open : Answer::wrong;
  if (found->status == Status::upper_bound && found->value)
    return *found->value >= *truth.value ? Answer::open : Answer::wrong;
  if (!found->value || found->status != Status::measured) return Answer::wrong;
  // Sets that too many are of to be counted.
  if (found->interval && found->interval_kind != "range")
    return found->interval->low <= *truth.value && *truth.value <= found->interval->high ? Answer::exact
                                                                                         : Answer::wrong;
  // A range is what sets of different sizes have.
  const auto range_of = [](const Estimate& e) { return e.interval.value_or(Interval{*e.value, *e.value}); };
  const bool same_range = range_of(truth) == range_of(*found);
  return *found->value == *truth.value && same_range ? Answer::exact : Answer::wrong;
}

void add_numbers(const Memory& truth, const Memory& found, std::vector<Found>& all) {
  for (const char* name : {"sets", "ways", "consecutive_lines"}) {
    const Estimate* is = truth.find(name);
    const Estimate* said = found.find(name);
    if (is == nullptr) {
      if (said != nullptr && said->value) all.push_back({truth.id, name, "nothing", number(*said), "", Answer::wrong});
      continue;
    }
    all.push_back({truth.id, name, number(*is), said == nullptr ? "nothing" : number(*said),
                   said == nullptr ? "" : said->note, judged(*is, said)});
  }
}

void add_texts(const Memory& truth, const Memory& found, std::vector<Found>& all) {
  for (const char* name : {"index", "replacement"}) {
    const auto is = truth.structure.find(name);
    if (is == truth.structure.end()) continue;
    const auto said = found.structure.find(name);
    Found f{truth.id, name, is->second.value, "nothing", "", Answer::open};
    if (said != found.structure.end()) {
      f.found = said->second.value;
      f.why = said->second.note;
      if (!f.found.empty()) f.answer = f.found == f.truth ? Answer::exact : Answer::wrong;
    }
    all.push_back(f);
  }
}

Topology discovered(const sim::Model& model, const std::vector<std::string>& only, bool deep) {
  const auto device = sim::make_device(model);
  experiments::DiscoverOptions options;
  options.only = only;
  options.extras = false;
  options.deep = deep;
  std::vector<DecidingCurve> curves;
  options.curves = &curves;
  auto topology = experiments::discover(*device, options);
  if (!topology) throw std::runtime_error(topology.error().message);
  if (const auto missing = without_curve(*topology, curves); !missing.empty())
    throw std::runtime_error("no curve of what decided " + missing.front());
  return std::move(*topology);
}

}  // namespace

Topology discovered_deep(const sim::Model& model, const std::vector<std::string>& only) {
  return discovered(model, only, true);
}

Topology discovered_plainly(const sim::Model& model) {
  return discovered(model, {}, false);
}

void add_organisation_found(const Memory& truth, const Memory& found, std::vector<Found>& all) {
  add_numbers(truth, found, all);
  add_texts(truth, found, all);
}

std::vector<Found> organisation_found(const sim::Model& model, const Topology& topology) {
  Topology truth = sim::truth(model);
  sim::add_organisation(model, truth);
  std::vector<Found> all;
  for (const Memory& memory : truth.memories) {
    const Memory* found = topology.find(memory.id);
    if (found == nullptr || memory.find("sets") == nullptr) continue;
    // Measured beside others for what they need of it.
    if (memory.id == "l2" && found->find("sets") == nullptr) continue;
    add_organisation_found(memory, *found, all);
  }
  return all;
}

std::string text_of(const Found& found) {
  return fmt::format("{}.{}: {} where {} is true{}{}", found.memory, found.quantity, found.found, found.truth,
                     found.why.empty() ? "" : "; ", found.why);
}

}  // namespace gputopo::test
