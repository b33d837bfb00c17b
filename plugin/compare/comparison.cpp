#include "compare/comparison.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace gputopo::compare {
namespace {

// One quantity as all GPUs answer it; a GPU that doesn't have it answers nothing.
struct Row {
  const Quantity* quantity = nullptr;
  std::vector<Answer> answers;
};

std::vector<Row> rows_of(const std::vector<std::vector<Quantity>>& lists) {
  std::vector<Row> rows;
  std::map<std::string_view, std::size_t> row_of;
  for (std::size_t gpu = 0; gpu < lists.size(); ++gpu)
    for (const Quantity& q : lists[gpu]) {
      const auto [at, is_new] = row_of.try_emplace(q.key, rows.size());
      if (is_new) rows.push_back({&q, std::vector<Answer>(lists.size())});
      rows[at->second].answers[gpu] = q.answer;
    }
  return rows;
}

double tolerance_of(const Quantity& q, const Options& options) {
  const bool is_rate_or_time = q.unit == "cycles" || q.unit == "ns" || q.unit.starts_with("B/");
  // The driver keeps some of the memory for itself, from boot to boot another part.
  return is_rate_or_time || q.key == "device_memory.size" ? options.tolerance_percent : 0;
}

// Whoever agrees with the most others goes first and takes them along, then the same among the rest. Everybody is on a
// side of its own at least, whatever the numbers say: so this ends.
std::vector<Side> sides_of(const Row& row, double tolerance) {
  std::vector<std::size_t> rest;
  for (std::size_t i = 0; i < row.answers.size(); ++i)
    if (row.answers[i].is_known()) rest.push_back(i);
  std::vector<Side> sides;
  while (!rest.empty()) {
    Side best;
    for (const std::size_t i : rest) {
      Side side{{}, row.answers[i]};
      for (const std::size_t k : rest)
        if (k == i || can_agree(row.answers[i], row.answers[k], tolerance)) side.gpus.push_back(k);
      if (side.gpus.size() > best.gpus.size()) best = std::move(side);
      if (best.gpus.size() == rest.size()) break;
    }
    std::erase_if(rest, [&](std::size_t i) { return std::binary_search(best.gpus.begin(), best.gpus.end(), i); });
    sides.push_back(std::move(best));
  }
  return sides;
}

std::vector<std::string> notes_of(std::span<const Topology> gpus) {
  std::vector<std::string> notes;
  std::set<std::string> drivers;
  bool any_real = false, any_simulated = false;
  for (const Topology& t : gpus) {
    if (!t.provenance.driver_version.empty()) drivers.insert(t.provenance.driver_version);
    (t.provenance.simulated ? any_simulated : any_real) = true;
  }
  if (any_real && any_simulated) notes.emplace_back("Simulated GPUs are compared with real ones.");
  if (drivers.size() > 1)
    notes.push_back(fmt::format("They were measured under different drivers: {}.", fmt::join(drivers, ", ")));
  for (std::size_t i = 0; i < gpus.size(); ++i)
    if (was_shared(gpus[i].provenance)) {
      const std::string& who = gpus[i].provenance.shared_gpu;
      notes.push_back(fmt::format("GPU {} was in use by others{}", i, who.empty() ? "." : ": " + who));
    }
  return notes;
}

}  // namespace

bool can_agree(const Answer& a, const Answer& b, double tolerance_percent) {
  if (!a.is_known() || !b.is_known()) return true;
  if (!a.range || !b.range) return !a.range && !b.range && a.text == b.text;
  const Interval& lower = a.range->high <= b.range->high ? *a.range : *b.range;
  const Interval& upper = a.range->high <= b.range->high ? *b.range : *a.range;
  return upper.low <= lower.high * (1 + tolerance_percent / 100);
}

Expected<Comparison> compare(std::span<const Topology> gpus, const Options& options) {
  std::vector<std::vector<Quantity>> lists;
  for (const Topology& t : gpus) lists.push_back(quantities(t));
  const std::vector<Row> rows = rows_of(lists);
  for (const std::string& key : options.ignore)
    if (std::none_of(rows.begin(), rows.end(), [&](const Row& row) { return row.quantity->key == key; }))
      return fail(Error::Kind::bad_input,
                  fmt::format("can't ignore '{}': no GPU has such a quantity; --format json lists their keys", key));
  Comparison result;
  for (const Row& row : rows) {
    const Quantity& q = *row.quantity;
    if (std::find(options.ignore.begin(), options.ignore.end(), q.key) != options.ignore.end()) continue;
    const auto known =
        std::count_if(row.answers.begin(), row.answers.end(), [](const Answer& a) { return a.is_known(); });
    if (known > 1) result.compared.push_back(q.key);
    if (static_cast<std::size_t>(known) < gpus.size()) result.not_compared.push_back(q.key);
    auto sides = sides_of(row, tolerance_of(q, options));
    if (sides.size() > 1) result.differences.push_back({q.key, q.label, q.unit, std::move(sides)});
  }
  result.notes = notes_of(gpus);
  return result;
}

}  // namespace gputopo::compare
