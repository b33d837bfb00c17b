#include "report/cell.hpp"

#include <fmt/format.h>

#include "report/text.hpp"

namespace gputopo::report {
namespace {

constexpr std::size_t cell_note_limit = 300;

std::string value_text(double value, const Estimate& e, const CellStyle& style) {
  if (e.unit == "B" && !style.with_bytes) return number_text(value);
  if (e.unit == "B" && !style.exact_sizes) return brief_size_text(value);
  return style.with_unit || e.unit == "B" ? quantity_text(value, e.unit) : number_text(value);
}

std::string bound_sign(Status status, bool unicode) {
  if (status == Status::lower_bound) return unicode ? "≥" : ">=";
  if (status == Status::upper_bound) return unicode ? "≤" : "<=";
  return {};
}

Tone tone_of_status(Status status) {
  switch (status) {
    case Status::measured:
    case Status::truth:
      return Tone::plain;
    case Status::api:
    case Status::not_supported:
      return Tone::faint;
    case Status::lower_bound:
    case Status::upper_bound:
    case Status::inconclusive:
      return Tone::doubtful;
  }
  return Tone::plain;
}

}  // namespace

std::string status_words(Status status) {
  switch (status) {
    case Status::measured:
    case Status::truth:
      return {};
    case Status::api:
      return "told by the driver, not measured";
    case Status::lower_bound:
      return "at least this much: the end was not reached";
    case Status::upper_bound:
      return "at most this much: the change lies before the first point";
    case Status::not_supported:
      return "this GPU has none or doesn't let it be seen";
    case Status::inconclusive:
      return "inconclusive: the evidence doesn't decide";
  }
  return {};
}

std::string interval_suffix(const Estimate& e, bool unicode) {
  if (!e.value || !e.interval || e.status != Status::measured) return {};
  const bool has_scale = e.unit == "B" || e.unit == "B/s";
  const auto distance = [&](double d) { return has_scale ? quantity_text(d, e.unit) : number_text(d); };
  const std::string below = distance(*e.value - e.interval->low);
  const std::string above = distance(e.interval->high - *e.value);
  const std::string zero = distance(0);
  if (below == zero && above == zero) return {};
  if (below == above) return fmt::format("{}{}", unicode ? "±" : "+/-", below);
  return fmt::format("-{}/+{}", below, above);
}

std::string interval_words(const Estimate& e) {
  if (interval_suffix(e, false).empty()) return {};
  const double low = e.interval->low;
  const double high = e.interval->high;
  const std::string kind = e.interval_kind == interval_kinds.front() ? "" : fmt::format(" ({})", e.interval_kind);
  const bool has_scale = e.unit == "B" || e.unit == "B/s";
  const std::string from = has_scale ? quantity_text(low, e.unit) : number_text(low);
  return fmt::format("{} to {}{}", from, quantity_text(high, e.unit), kind);
}

Cell plain_cell(const Estimate* estimate, bool unicode) {
  if (estimate == nullptr) return {"-", {}};
  if (!estimate->value) return {estimate->status == Status::not_supported ? "n/a" : "?", {}};
  const std::string doubt = estimate->status == Status::inconclusive ? "? " : bound_sign(estimate->status, unicode);
  Cell cell{doubt + quantity_text(*estimate->value, estimate->unit), {}};
  // That it is a bound is no doubt here: so much was reached.
  if (estimate->status != Status::lower_bound) cell.tone = tone_of_status(estimate->status);
  return cell;
}

Cell estimate_cell(const Estimate* estimate, const std::string& what, const CellStyle& style, Footnotes& notes) {
  if (estimate == nullptr) return {"-", {}};
  const Estimate& e = *estimate;
  Cell cell;
  if (e.status == Status::not_supported || !e.value)
    cell.text = e.status == Status::not_supported ? "n/a" : "?";
  else if (e.status == Status::inconclusive)
    cell.text = "? " + value_text(*e.value, e, style);
  else
    cell.text = bound_sign(e.status, style.unicode) + value_text(*e.value, e, style);

  std::string note = status_words(e.status);
  // The estimate's own note says what was measured beside the driver's word.
  if (e.status == Status::api && !e.note.empty()) note = "told by the driver";
  const auto add = [&](const std::string& more) { note += (note.empty() ? "" : "; ") + more; };
  if (!e.note.empty()) add(printable(e.note, cell_note_limit));
  const std::string interval = interval_suffix(e, style.unicode);
  if (!interval.empty() && style.inline_interval) {
    cell.text += " " + interval;
    if (e.interval_kind != interval_kinds.front()) add("interval: " + e.interval_kind);
  } else if (!interval.empty() && style.noted_interval) {
    add("interval " + interval_words(e));
  }
  if (e.value && e.unit == "B" && style.with_bytes && !style.exact_sizes && !is_brief_exact(*e.value))
    add(fmt::format("{}: exactly {} B", what, number_text(*e.value)));
  if (!note.empty()) cell.mark = notes.mark(note);
  cell.tone = tone_of_status(e.status);
  return cell;
}

}  // namespace gputopo::report
