// The bandwidth of each level as attributes: the benchmark's findings, of all SMs together. What a level delivers at
// least in every discovery; how much that is, and which sides of an L2 give what, in a deep one.
#include <algorithm>

#include <fmt/format.h>

#include "catalog/catalog.hpp"
#include "evidence/inference/curves.hpp"
#include "experiments/experiments.hpp"
#include "throughput/registry.hpp"

namespace gputopo::experiments {
namespace {

// Device memory's attributes are what fills it from the host, too.
constexpr std::string_view host_link = "host_link";
constexpr std::string_view device_memory = "device_memory";

// Of an SM and cycle to the GPU and second; nothing where the clock isn't known.
std::optional<double> to_bytes_per_second(const Estimate& e, const Gpu& gpu) {
  if (e.unit == "B/s") return 1;
  if (e.unit == "B/cycle" && gpu.clock_khz != 0) return static_cast<double>(gpu.clock_khz) * 1e3 * gpu.sm_count;
  return std::nullopt;
}

void keep(Session& session, const throughput::Finding& finding, Findings& findings) {
  const auto factor = to_bytes_per_second(finding.estimate, findings.topology.gpu);
  if (!factor || catalog::find_attribute(finding.quantity) == nullptr) return;
  Memory* memory = findings.topology.find(finding.memory == host_link ? device_memory : finding.memory);
  if (memory == nullptr) return;
  Estimate e = finding.estimate;
  if (e.value) *e.value *= *factor;
  if (e.interval) e.interval = Interval{e.interval->low * *factor, e.interval->high * *factor};
  e.unit = "B/s";
  if (e.note.empty()) {
    e.note = finding.configuration;
    if (finding.limit) e.note += fmt::format("; clock and width allow {:.0f} GB/s", *finding.limit * *factor / 1e9);
  }
  DecidingCurve curve = evidence::make_curve(memory->id, finding.quantity, {finding.by_bytes.what, "B", true},
                                             {"all SMs together", "B/s", false});
  curve.series = {{"the best of its configurations", finding.by_bytes.points}};
  for (auto& [bytes, rate] : curve.series.front().points) rate *= *factor;
  session.keep(std::move(curve));
  memory->attributes[finding.quantity] = std::move(e);
}

// What tells about a memory: its own levels' streams; where its lines live on two sides, theirs.
throughput::Options options_for(const Topology& topology, std::string_view memory, bool deep) {
  throughput::Options options;
  options.effort = deep ? throughput::Effort::full : throughput::Effort::brief;
  options.chosen = {throughput::find_benchmark("bandwidth")};
  options.memories = {std::string(memory)};
  options.plots = false;
  if (memory == device_memory) options.memories.emplace_back(host_link);
  const Memory* m = topology.find(memory);
  const Estimate* sides = m == nullptr ? nullptr : m->find("partitions");
  if (deep && sides != nullptr && is_usable(*sides) && sides->value == 2)
    options.chosen.push_back(throughput::find_benchmark("sides"));
  return options;
}

}  // namespace

Expected<void> measure_bandwidth(Session& session, Findings& findings, const std::string_view& memory) {
  auto& notes = findings.topology.provenance.notes;
  if (const auto ok = throughput::check_streams(session.device()); !ok) {
    if (ok.error().kind != Error::Kind::unavailable) return ok;
    const std::string note = "bandwidth: " + ok.error().message;
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
    return {};
  }
  throughput::Options options = options_for(findings.topology, memory, session.settings().deep);
  options.stop = session.settings().stop;
  const auto report = throughput::run(session.device(), findings.topology, options);
  if (!report) return tl::unexpected<Error>(report.error());
  if (report->interrupted)
    return fail(Error::Kind::interrupted, "interrupted before the measurement was complete; nothing was written");
  for (const throughput::Result& result : report->results) {
    for (const throughput::Finding& finding : result.findings) keep(session, finding, findings);
    for (const std::string& note : result.notes) notes.push_back(fmt::format("{} bandwidth: {}", memory, note));
  }
  return {};
}

}  // namespace gputopo::experiments
