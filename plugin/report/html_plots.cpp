#include "report/html_plots.hpp"

#include <map>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/cell.hpp"
#include "report/svg.hpp"
#include "report/text.hpp"

namespace gputopo::report {
namespace {

std::string tone_of(const Memory& m) {
  if (m.kind == Kind::scratchpad) return "scratchpad";
  if (m.kind == Kind::memory) return "memory";
  return m.scope == Scope::sm ? "near" : "far";
}

std::string section(const std::string& title, const std::string& remark, const std::string& body,
                    const std::string& source) {
  if (body.empty()) return {};
  return fmt::format(
      "<section><h2>{}</h2>\n<p>{}</p>\n<div class=\"scroll\">{}</div>\n<p class=\"source\">Source: "
      "{}.</p></section>\n",
      escape_html(title), escape_html(remark), body, escape_html(source));
}

// "misses (L1 data, Texture), driver (L2)": by which method each was found.
class Methods {
 public:
  void add(const Memory& m, const std::string& method) {
    if (!method.empty()) of_[printable(method, 40)].push_back(memory_label(m, true));
  }
  std::string text() const {
    std::string all;
    for (const auto& [method, memories] : of_)
      all += fmt::format("{}{} ({})", all.empty() ? "" : ", ", method, fmt::join(memories, ", "));
    return all.empty() ? "not told" : all;
  }

 private:
  std::map<std::string, std::vector<std::string>> of_;
};

std::string methods_of(const Topology& topology, const char* attribute) {
  Methods methods;
  for (const Memory& m : topology.memories)
    if (const Estimate* e = m.find(attribute); e != nullptr && e->value && e->status != Status::inconclusive)
      methods.add(m, e->method);
  return methods.text();
}

std::string attribute_plot(const Topology& topology, const char* attribute, bool logarithmic,
                           const std::string& title) {
  std::vector<Bar> bars;
  for (const Memory& m : topology.memories) {
    const Estimate* e = m.find(attribute);
    if (e == nullptr || !e->value || e->status == Status::inconclusive || *e->value <= 0) continue;
    const bool bound = e->status == Status::lower_bound;
    Bar bar{memory_label(m, true), quantity_text(*e->value, e->unit), *e->value, 0, 0, bound, tone_of(m)};
    if (e->interval && e->status == Status::measured) {
      bar.low = e->interval->low;
      bar.high = e->interval->high;
    }
    if (bound) bar.value_text = "≥ " + bar.value_text;
    if (e->status == Status::upper_bound) bar.value_text = "≤ " + bar.value_text;
    bars.push_back(bar);
  }
  return bars.empty() ? std::string() : bar_plot(bars, logarithmic, title);
}

double value_or_zero(const Estimate& e) {
  return e.value && *e.value > 0 ? *e.value : 0;
}

}  // namespace

std::string method_of_scope(const Memory& m) {
  const auto scope = m.structure.find("scope");
  return scope == m.structure.end() ? "" : scope->second.method;
}

std::string latency_section(const Topology& topology) {
  return section("Latency",
                 "SM cycles from a load to its value, hitting in each memory. Whiskers: intervals, of 95 % where the "
                 "table says nothing else.",
                 attribute_plot(topology, "latency", false, "Latency of each memory in cycles"),
                 methods_of(topology, "latency"));
}

std::string size_section(const Topology& topology) {
  return section("Size", "Bytes of one instance, on a logarithmic scale. An arrow marks a lower bound.",
                 attribute_plot(topology, "size", true, "Size of each memory in bytes"), methods_of(topology, "size"));
}

std::string carve_out_section(const Topology& topology) {
  for (const Memory& m : topology.memories) {
    if (m.carve_outs.empty()) continue;
    std::vector<StackedRow> rows;
    for (const CarveOut& c : m.carve_outs)
      rows.push_back({fmt::format("asked {} %", c.requested_percent),
                      {value_or_zero(c.shared_bytes), value_or_zero(c.usable_bytes), value_or_zero(c.reserved_bytes)}});
    return section("Carve-outs",
                   memory_label(m, true) + " and shared memory divide one array; the kernel's carve-out decides how.",
                   stacked_plot(rows, {"shared memory", "left to the cache", "reserved"}, "Division by carve-out"),
                   printable(m.carve_outs.front().usable_bytes.method, 40) + ", over what a block asks for");
  }
  return {};
}

std::string sharing_section(const Topology& topology) {
  std::string body;
  Methods methods;
  for (const Memory& m : topology.memories) {
    if (m.sm_groups.empty()) continue;
    methods.add(m, method_of_scope(m));
    body += fmt::format("<h3>{}</h3>\n", escape_html(memory_label(m, true)));
    body += group_plot({m.sm_groups.begin(), m.sm_groups.end()}, memory_label(m, true) + ": SMs that share one");
  }
  return section("Sharing", "Each row is one instance; the squares are the SMs that share it.", body, methods.text());
}

std::string time_section(const Topology& topology) {
  const Provenance& p = topology.provenance;
  std::vector<Bar> bars;
  for (const auto& [part, seconds] : p.breakdown_s)
    bars.push_back({printable(part, 28), number_text(seconds * 1e3) + " ms", seconds, 0, 0, false, "time"});
  if (bars.empty()) return {};
  return section("Time", fmt::format("The discovery took {:.2f} s.", p.duration_s),
                 bar_plot(bars, false, "Where the time went"), "this program's clock");
}

}  // namespace gputopo::report
