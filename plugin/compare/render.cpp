#include "compare/render.hpp"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/chip_map.hpp"
#include "report/grid.hpp"
#include "report/text.hpp"
#include "topology/json.hpp"

namespace gputopo::compare {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t text_limit = 60;  // columns of a name or a path

// "60 MiB", "262.1 cycles (261.9 to 262.4)", "21.89 TB/s (21.8 TB/s to 21.96 TB/s)", ">= 64 KiB", "sm".
std::string answer_text(const Answer& answer, const std::string& unit) {
  if (!answer.range) return report::printable(answer.text, text_limit);
  const auto text = [&](double value) {
    const bool is_brief = unit == "B" && report::is_brief_exact(value);
    return is_brief ? report::brief_size_text(value) : report::quantity_text(value, unit);
  };
  const auto [low, high] = *answer.range;
  if (std::isinf(high)) return ">= " + text(low);
  if (low == high) return text(low);
  const bool scales = unit.starts_with("B");  // each number with the unit that fits it
  const auto end = [&](double value) { return scales ? text(value) : report::number_text(value); };
  return fmt::format("{} ({} to {})", text(answer.value.value_or(high)), end(low), end(high));
}

// "0-6 8", numbered from 0, as in JSON and wherever else GPUs have numbers.
std::string gpu_list(const std::vector<std::size_t>& gpus) {
  std::vector<std::uint32_t> numbers;
  for (const std::size_t i : gpus) numbers.push_back(static_cast<std::uint32_t>(i));
  return report::sm_list(numbers);
}

std::string lines_of(const std::string& text, std::size_t width, std::size_t indent) {
  std::string out;
  for (const std::string& line : report::wrap(text, width, indent)) out += line + '\n';
  return out;
}

std::string subject_line(std::size_t number, const Subject& gpu) {
  const Gpu& g = gpu.topology->gpu;
  std::string text =
      fmt::format("GPU {}: {}: {}", number, report::printable(gpu.source, 200), report::headline(*gpu.topology));
  if (!g.pci_bus_id.empty()) text += ", " + report::printable(g.pci_bus_id, text_limit);
  if (!g.uuid.empty()) text += ", " + report::printable(g.uuid, text_limit);
  return text;
}

// Whole numbers as integers; an end that lies at infinity has no number in JSON.
Json number_json(double value) {
  constexpr double exact_limit = 9007199254740992.0;  // 2^53
  if (!std::isfinite(value)) return nullptr;
  if (value == std::nearbyint(value) && std::fabs(value) < exact_limit) return static_cast<std::int64_t>(value);
  return value;
}

Json side_json(const Side& side) {
  Json j{{"gpus", side.gpus}};
  const Answer& answer = side.answer;
  if (answer.range) {
    j["value"] = answer.value ? number_json(*answer.value) : Json(nullptr);
    j["range"] = {number_json(answer.range->low), number_json(answer.range->high)};
  } else {
    j["text"] = answer.text;
  }
  return j;
}

}  // namespace

std::string render_table(std::span<const Subject> gpus, const Comparison& comparison, std::size_t width) {
  std::string text;
  for (std::size_t i = 0; i < gpus.size(); ++i) text += lines_of(subject_line(i, gpus[i]), width, 7);
  for (const std::string& note : comparison.notes) text += lines_of("Note: " + report::printable(note, 400), width, 6);
  text += '\n';
  if (!comparison.differences.empty()) {
    report::Grid grid({{"What"}, {"Value"}, {"GPUs"}});
    for (const Difference& d : comparison.differences)
      for (const Side& side : d.sides)
        grid.add({{&side == &d.sides.front() ? report::printable(d.label, text_limit) : std::string(), {}},
                  {answer_text(side.answer, d.unit), {}},
                  {gpu_list(side.gpus), {}}});
    grid.fit(width);
    text += grid.text({}) + '\n';
  }
  const std::size_t count = comparison.differences.size();
  text += fmt::format("{} of {} quantities {}.\n", count == 0 ? "None" : fmt::format("{}", count),
                      comparison.compared.size(), count == 1 ? "differs" : "differ");
  constexpr std::size_t few = 8;
  const auto& unknown = comparison.not_compared;
  if (unknown.size() > few)
    text += lines_of(fmt::format("{} quantities aren't known of every GPU; --format json lists them.", unknown.size()),
                     width, 0);
  else if (!unknown.empty())
    text += lines_of(fmt::format("Not known of every GPU: {}.", fmt::join(unknown, ", ")), width, 0);
  return text;
}

std::string render_json(std::span<const Subject> gpus, const Comparison& comparison) {
  Json j{{"schema", "gputopo-comparison/1"}, {"gpus", Json::array()}};
  for (const Subject& gpu : gpus)
    j["gpus"].push_back({{"source", gpu.source},
                         {"name", gpu.topology->gpu.name},
                         {"uuid", gpu.topology->gpu.uuid},
                         {"pci_bus_id", gpu.topology->gpu.pci_bus_id},
                         {"simulated", gpu.topology->provenance.simulated}});
  j["differences"] = Json::array();
  for (const Difference& d : comparison.differences) {
    Json entry{{"quantity", d.key}, {"label", d.label}, {"unit", d.unit}, {"sides", Json::array()}};
    for (const Side& side : d.sides) entry["sides"].push_back(side_json(side));
    j["differences"].push_back(std::move(entry));
  }
  j["compared"] = comparison.compared;
  j["not_known_of_all"] = comparison.not_compared;
  j["notes"] = comparison.notes;
  return json_text(j);
}

}  // namespace gputopo::compare
