#include "text/csv.hpp"

#include <cmath>

#include <fmt/format.h>

#include "report/chip_map.hpp"
#include "report/main_table.hpp"
#include "report/report.hpp"

namespace gputopo::report {
namespace {

// Every digit that it takes to read the same value back; whole numbers without an exponent.
std::string number(double value) {
  constexpr double exact_limit = 9007199254740992.0;  // 2^53
  if (std::nearbyint(value) == value && std::fabs(value) < exact_limit) return fmt::format("{:.0f}", value);
  return fmt::format("{}", value);
}

void append_row(std::string& text, const Topology& t, const Memory& m, const std::string& attribute,
                const Estimate& e) {
  const std::vector<std::string> fields{t.gpu.name,
                                        t.gpu.uuid,
                                        t.provenance.simulated ? "true" : "false",
                                        m.id,
                                        std::string(to_string(m.kind)),
                                        m.scope ? std::string(to_string(*m.scope)) : "",
                                        m.instances_per_scope ? fmt::format("{}", *m.instances_per_scope) : "",
                                        m.physical_cache,
                                        attribute,
                                        e.value ? number(*e.value) : "",
                                        e.unit,
                                        std::string(to_string(e.status)),
                                        e.method,
                                        e.interval ? number(e.interval->low) : "",
                                        e.interval ? number(e.interval->high) : "",
                                        e.interval ? e.interval_kind : "",
                                        e.confidence ? number(*e.confidence) : "",
                                        fmt::format("{}", e.samples),
                                        e.note};
  for (std::size_t i = 0; i < fields.size(); ++i) text += (i == 0 ? "" : ",") + text::csv_field(fields[i]);
  text += '\n';
}

// One line an SM and kind of group: the group's label as the value.
void append_map(std::string& text, const Topology& t) {
  const std::string status(to_string(is_truth(t) ? Status::truth : Status::measured));
  for (const MapLevel& level : chip_map(t))
    for (const MapLevel::Group& group : level.groups)
      for (const std::uint32_t sm : group.sms)
        text += fmt::format("{},{},{},sm_{},place,,,,{},{},,{},,,,,,0,\n", text::csv_field(t.gpu.name),
                            text::csv_field(t.gpu.uuid), t.provenance.simulated ? "true" : "false", sm, level.id,
                            group.label, status);
}

}  // namespace

std::string render_csv(std::span<const Topology> topologies, const Options& options) {
  std::string text =
      "gpu,uuid,simulated,memory,kind,scope,instances_per_scope,physical_cache,attribute,value,unit,status,method,"
      "low,high,interval_kind,confidence,samples,note\n";
  for (const Topology& t : topologies)
    for (const Memory& m : t.memories) {
      for (const auto& [attribute, estimate] : m.attributes) append_row(text, t, m, attribute, estimate);
      for (const CarveOut& c : m.carve_outs) {
        const std::string at = fmt::format("carve_out_{}_percent_", c.requested_percent);
        append_row(text, t, m, at + "shared", c.shared_bytes);
        append_row(text, t, m, at + "usable", c.usable_bytes);
        append_row(text, t, m, at + "reserved", c.reserved_bytes);
      }
    }
  if (options.all)
    for (const Topology& t : topologies) append_map(text, t);
  return text;
}

}  // namespace gputopo::report
