#include "report/legible.hpp"

#include <utility>

#include "text/printable.hpp"

namespace gputopo::report {
namespace {

constexpr std::size_t name_limit = 200;
constexpr std::size_t legible_note_limit = 1000;

void clean(std::string& name) {
  name = text::printable(name, name_limit);
}

void clean_note(std::string& note) {
  note = text::printable(note, legible_note_limit);
}

void clean(Estimate& e) {
  for (std::string* name : {&e.unit, &e.method, &e.interval_kind}) clean(*name);
  clean_note(e.note);
}

void clean(Statement& s) {
  clean(s.value);
  clean(s.method);
  clean_note(s.note);
}

void clean(CarveOut& c) {
  for (Estimate* e : {&c.shared_bytes, &c.usable_bytes, &c.reserved_bytes}) clean(*e);
}

template <class Value>
void clean(std::map<std::string, Value>& by_key) {
  std::map<std::string, Value> cleaned;
  for (auto& [key, value] : by_key) {
    clean(value);
    cleaned.emplace(text::printable(key, name_limit), std::move(value));
  }
  by_key = std::move(cleaned);
}

void clean(Memory& m) {
  for (std::string* name : {&m.id, &m.label, &m.parent, &m.physical_cache, &m.created}) clean(*name);
  clean(m.structure);
  clean(m.attributes);
  for (CarveOut& c : m.carve_outs) clean(c);
}

void clean(Provenance& p) {
  for (std::string* name :
       {&p.tool_name, &p.tool_version, &p.created, &p.device, &p.driver_version, &p.method, &p.kernels})
    clean(*name);
  for (auto& [part, seconds] : p.breakdown_s) clean(part);
  for (std::string& note : p.notes) clean_note(note);
  clean_note(p.shared_gpu);
}

}  // namespace

Topology legible(const Topology& topology) {
  Topology t = topology;
  clean(t.provenance);
  for (Provenance& run : t.earlier_runs) clean(run);
  for (std::string* name : {&t.gpu.name, &t.gpu.uuid, &t.gpu.pci_bus_id, &t.gpu.compute_capability}) clean(*name);
  for (Memory& m : t.memories) clean(m);
  for (CrossCheck& c : t.crosscheck)
    for (std::string* name : {&c.memory, &c.metric, &c.verdict}) clean(*name);
  for (SharingCheck& c : t.sharing) {
    for (std::string* name : {&c.first, &c.second, &c.verdict}) clean(*name);
    for (SharingTest& test : c.tests)
      for (std::string* name : {&test.method, &test.verdict}) clean(*name);
  }
  return t;
}

}  // namespace gputopo::report
