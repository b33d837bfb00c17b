#include "exchange/prometheus.hpp"

#include <array>
#include <cctype>
#include <cmath>
#include <ctime>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "catalog/catalog.hpp"
#include "report/chip_map.hpp"

namespace gputopo::exchange {
namespace {

using Labels = std::vector<std::pair<std::string_view, std::string>>;

// A label's value may hold anything but these as they are.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out;
}

// Every digit that it takes to read the same value back, whole numbers without an exponent.
std::string exposed(double value) {
  constexpr double exact_limit = 9007199254740992.0;  // 2^53
  if (std::nearbyint(value) == value && std::fabs(value) < exact_limit) return fmt::format("{:.0f}", value);
  return fmt::format("{}", value);
}

// Metrics in the order of their first sample. The format wants all samples of a metric together.
class Metrics {
 public:
  void add(const std::string& name, const std::string& help, const Labels& labels, double value) {
    const auto [at, is_new] = index_.try_emplace(name, families_.size());
    if (is_new) families_.push_back(fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n", name, help));
    std::string list;
    for (const auto& [label, text] : labels)
      list += fmt::format("{}{}=\"{}\"", list.empty() ? "" : ",", label, escaped(text));
    families_[at->second] += fmt::format("{}{{{}}} {}\n", name, list, exposed(value));
  }

  std::string text() const { return fmt::format("{}", fmt::join(families_, "")); }

 private:
  std::map<std::string, std::size_t> index_;
  std::vector<std::string> families_;
};

// "latency_cycles", "size_bytes": what Prometheus asks a metric's name to end in.
std::string name_with_unit(std::string_view attribute, std::string_view unit) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> suffixes{{{"B", "_bytes"},
                                                                                   {"cycles", "_cycles"},
                                                                                   {"ns", "_nanoseconds"},
                                                                                   {"B/cycle", "_bytes_per_cycle"},
                                                                                   {"B/s", "_bytes_per_second"}}};
  std::string name;
  for (const char c : attribute) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  for (const auto& [own, suffix] : suffixes)
    if (own == unit) name += suffix;
  return name;
}

void add_estimate(Metrics& metrics, const std::string& attribute, const std::string& help, const Estimate& e,
                  Labels labels) {
  if (!e.value || e.status == Status::inconclusive) return;
  const std::string name = "gputopo_memory_" + name_with_unit(attribute, e.unit);
  const Interval range = e.interval.value_or(Interval{*e.value, *e.value});
  labels.emplace_back("status", to_string(e.status));
  if (is_usable(e)) metrics.add(name, help, labels, *e.value);
  if (e.status != Status::upper_bound) metrics.add(name + "_low", help + " Lower end.", labels, range.low);
  if (e.status != Status::lower_bound) metrics.add(name + "_high", help + " Upper end.", labels, range.high);
}

void add_memory(Metrics& metrics, const Memory& m, const Labels& gpu) {
  Labels labels = gpu;
  labels.emplace_back("memory", m.id);
  for (const auto& [id, estimate] : m.attributes) {
    const auto* row = catalog::find_attribute(id);
    add_estimate(metrics, id, row != nullptr ? std::string(row->description) : "An attribute of a memory.", estimate,
                 labels);
  }
  for (const CarveOut& c : m.carve_outs) {
    Labels with_carve_out = labels;
    with_carve_out.emplace_back("carve_out_percent", fmt::format("{}", c.requested_percent));
    add_estimate(metrics, "usable", "What a shared-memory carve-out leaves to the cache.", c.usable_bytes,
                 with_carve_out);
  }
}

std::size_t undecided_in(const Topology& t) {
  std::size_t count = 0;
  for (const Memory& m : t.memories)
    for (const auto& [id, estimate] : m.attributes)
      if (estimate.status == Status::inconclusive) ++count;
  return count;
}

// Seconds since 1970 of "2026-11-22T05:15:56Z"; nothing of another form.
std::optional<double> unix_time(const std::string& created) {
  std::tm time{};
  const char* end = strptime(created.c_str(), "%Y-%m-%dT%H:%M:%SZ", &time);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return static_cast<double>(timegm(&time));
}

void add_gpu(Metrics& metrics, const Topology& t) {
  const Gpu& g = t.gpu;
  // One model's alerts must not take a simulated GPU for a real one.
  const Labels labels{{"uuid", g.uuid}, {"model", g.name + (t.provenance.simulated ? " (simulated)" : "")}};
  Labels info = labels;
  info.emplace_back("pci_bus_id", g.pci_bus_id);
  info.emplace_back("compute_capability", g.compute_capability);
  info.emplace_back("driver_version", t.provenance.driver_version);
  info.emplace_back("tool_version", t.provenance.tool_version);
  metrics.add("gputopo_gpu_info", "A GPU whose memories are known; the value is 1.", info, 1);
  if (const auto seconds = unix_time(t.provenance.created))
    metrics.add("gputopo_measured_timestamp_seconds", "When the GPU was measured.", labels, *seconds);
  if (g.sm_count > 0) metrics.add("gputopo_gpu_sms", "SMs that the driver tells of.", labels, g.sm_count);
  if (g.memory_bus_bits > 0)
    metrics.add("gputopo_gpu_memory_bus_bytes", "Width of the memory's bus.", labels, g.memory_bus_bits / 8.0);
  metrics.add("gputopo_gpu_undecided_attributes", "Attributes whose evidence doesn't decide.", labels,
              static_cast<double>(undecided_in(t)));
  for (const Memory& m : t.memories) add_memory(metrics, m, labels);
  for (const report::MapLevel& level : report::chip_map(t))
    for (const auto& group : level.groups) {
      Labels with_group = labels;
      with_group.emplace_back("part", level.id);
      with_group.emplace_back("group", fmt::format("{}", group.label));
      metrics.add("gputopo_part_sms", "SMs in one part of the chip; groups' numbers are labels without an order.",
                  with_group, static_cast<double>(group.sms.size()));
    }
}

}  // namespace

Expected<std::string> prometheus_text(std::span<const Topology> gpus) {
  std::set<std::pair<std::string, std::string>> seen;
  for (const Topology& t : gpus)
    if (!seen.emplace(t.gpu.uuid, t.gpu.name).second)
      return fail(Error::Kind::bad_input,
                  fmt::format("can't export {} {} twice: a metric has one value; name each GPU's file once", t.gpu.name,
                              t.gpu.uuid));
  Metrics metrics;
  for (const Topology& t : gpus) add_gpu(metrics, t);
  return metrics.text();
}

}  // namespace gputopo::exchange
