#include "report/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace gputopo::report {
namespace {

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

// From 1 KiB on.
struct Scaled {
  double value;
  const char* unit;
};

Scaled scaled_size(double bytes) {
  constexpr std::array<const char*, 6> units{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double scaled = bytes / 1024;
  std::size_t unit = 0;
  while (scaled >= 1024 && unit + 1 < units.size()) {
    scaled /= 1024;
    ++unit;
  }
  return {scaled, units[unit]};
}

}  // namespace

std::string number_text(double value) {
  if (!std::isfinite(value)) return "?";
  if (std::fabs(value) >= 1e15) return fmt::format("{:.4g}", value);
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

std::string size_text(double bytes) {
  if (!(bytes >= 1024)) return number_text(bytes) + " B";
  const Scaled scaled = scaled_size(bytes);
  if (scaled.value == std::floor(scaled.value)) return fmt::format("{} {}", number_text(scaled.value), scaled.unit);
  return fmt::format("{:.1f} {} ({} B)", scaled.value, scaled.unit, number_text(std::round(bytes)));
}

bool is_brief_exact(double bytes) {
  if (!(bytes >= 1024)) return true;
  const double eighths = 8 * scaled_size(bytes).value;
  return eighths == std::floor(eighths);
}

std::string brief_size_text(double bytes) {
  if (!(bytes >= 1024)) return number_text(bytes) + " B";
  const Scaled scaled = scaled_size(bytes);
  if (is_brief_exact(bytes)) return fmt::format("{} {}", scaled.value, scaled.unit);
  return fmt::format("{:.1f} {}", scaled.value, scaled.unit);
}

std::string rate_text(double bytes_per_second) {
  constexpr std::array<const char*, 6> units{"B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s"};
  std::size_t unit = 0;
  for (; std::fabs(bytes_per_second) >= 1000 && unit + 1 < units.size(); ++unit) bytes_per_second /= 1000;
  return fmt::format("{:.4g} {}", bytes_per_second, units[unit]);
}

std::string quantity_text(double value, std::string_view unit) {
  if (unit == "B") return size_text(value);
  if (unit == "B/s") return rate_text(value);
  if (unit.empty()) return std::fabs(value) < 1 ? fmt::format("{:.2g}", value) : number_text(value);
  return fmt::format("{} {}", number_text(value), unit);
}

std::string memory_label(const Memory& memory, bool full) {
  constexpr std::size_t limit = 28;
  constexpr std::string_view kind = " cache";
  std::string label = printable(memory.label.empty() ? memory.id : memory.label, limit);
  if (!full && label.ends_with(kind)) label.resize(label.size() - kind.size());
  return label;
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(c); }));
}

std::vector<std::string> wrap(std::string_view text, std::size_t width, std::size_t indent) {
  std::vector<std::string> lines;
  std::string line;
  const auto start = [&] { return lines.empty() ? std::string() : std::string(indent, ' '); };
  bool has_word = false;
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
    if (has_word && display_width(line) + 1 + display_width(word) > width) {
      lines.push_back(line);
      line = start();
      has_word = false;
    }
    if (has_word) line += ' ';
    line += word;
    has_word = true;
  }
  if (has_word) lines.push_back(line);
  return lines;
}

std::string headline(const Topology& topology) {
  const std::string name = topology.gpu.name.empty() ? "unnamed GPU" : printable(topology.gpu.name, 60);
  const Provenance& p = topology.provenance;
  if (p.device == "replay")
    return fmt::format("{} (replayed from a recording of a {} GPU)", name, p.simulated ? "simulated" : "real");
  return fmt::format("{} ({})", name, p.simulated ? "simulated" : "real GPU");
}

std::string heading(std::span<const Topology> topologies, std::size_t index, std::span<const unsigned> numbers) {
  const Topology& topology = topologies[index];
  if (topologies.size() == 1 && numbers.empty()) return headline(topology);
  const std::string address = printable(topology.gpu.pci_bus_id, 20);
  return fmt::format("GPU {}{}: {}", index < numbers.size() ? numbers[index] : index,
                     address.empty() ? "" : " at " + address, headline(topology));
}

std::string shared_gpu_text(const Provenance& p) {
  std::string text;
  if (p.interruptions && p.interruptions->switches > 0) {
    const Interruptions& i = *p.interruptions;
    text =
        fmt::format("The GPU was shared: {} switch{} to other work seen ({} ms away), {} of {} programs run again{}.",
                    i.switches, i.switches == 1 ? "" : "es", number_text(i.away_ms), i.repeated, i.programs,
                    i.undecided == 0 ? "" : fmt::format(", {} undecided", i.undecided));
  }
  if (!p.shared_gpu.empty()) text += (text.empty() ? "The GPU was shared: " : " ") + printable(p.shared_gpu, 300);
  return text;
}

std::string earlier_runs_text(const Topology& topology) {
  std::string text;
  for (const Provenance& run : topology.earlier_runs) {
    std::string memories;
    for (const Memory& m : topology.memories)
      if (m.created == run.created) memories += (memories.empty() ? "" : ", ") + printable(m.id, 40);
    if (memories.empty()) continue;
    text += fmt::format("{}{} ({}{}{})", text.empty() ? "From earlier runs: " : "; ", memories,
                        printable(run.created, 24), run.device == "replay" ? ", replayed from a recording" : "",
                        was_shared(run) ? ", when others used the GPU" : "");
  }
  return text.empty() ? text : text + ".";
}

std::string gpu_facts(const Topology& topology) {
  const Gpu& gpu = topology.gpu;
  std::string text;
  const auto add = [&](const std::string& fact) { text += (text.empty() ? "" : ", ") + fact; };
  if (!gpu.compute_capability.empty()) add("compute capability " + printable(gpu.compute_capability, 12));
  if (gpu.sm_count != 0)
    add(fmt::format("{} SMs{}", gpu.sm_count,
                    gpu.clock_khz == 0 ? "" : fmt::format(" at {} MHz", gpu.clock_khz / 1000)));
  if (gpu.measured_clock_khz != 0) add(fmt::format("measured at {} MHz", gpu.measured_clock_khz / 1000));
  if (!topology.provenance.driver_version.empty()) add("driver " + printable(topology.provenance.driver_version, 24));
  if (topology.provenance.kernels == "ptx") add("kernels assembled by the driver");
  return text;
}

}  // namespace gputopo::report
