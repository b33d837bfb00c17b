#include "evidence_check.hpp"

#include <span>

#include <nlohmann/json.hpp>

#include "json/value.hpp"
#include "one_line.hpp"
#include "report/report.hpp"
#include "topology/evidence.hpp"

namespace gputopo::fuzz {
namespace {

using Json = nlohmann::ordered_json;

// Whether a page that was drawn of them has "nan" or "inf" for a number, which no browser draws.
bool has_odd_number(std::string_view page) {
  for (const std::string_view odd : {"nan", "inf"})
    for (std::size_t at = page.find(odd); at != page.npos; at = page.find(odd, at + 1)) {
      const char before = at == 0 ? ' ' : page[at - 1], behind = at + 3 < page.size() ? page[at + 3] : ' ';
      const bool is_number = (before == '"' || before == ',' || before == '-') && (behind == '"' || behind == ',');
      if (is_number) return true;
    }
  return false;
}

void check_one(std::string_view text) {
  auto evidence = parse_evidence(text);
  if (!evidence) return require_one_line(evidence.error().message);
  const std::string written = to_json_text(*evidence);
  const auto read = parse_evidence(written);
  require(read && *read == *evidence && to_json_text(*read) == written);
  // Texts are shown as they are elsewhere; here numbers count.
  for (DecidingCurve& c : evidence->curves) {
    c.memory = c.quantity = c.source = c.method = c.x.label = c.y.label = "a";
    for (Series& s : c.series) s.label = "a";
  }
  Topology topology;
  topology.gpu.uuid = evidence->uuid = topology.provenance.created = evidence->created = "a";
  report::Options options;
  options.evidence = {*evidence};
  require(!has_odd_number(report::render_html(std::span(&topology, 1), options)));
}

}  // namespace

std::string sealed_evidence(std::string_view text) {
  if (!json::parse(text, {})) return {};
  Json j = Json::parse(text, nullptr, false);
  if (!j.is_object()) return {};
  j.erase("checksum");
  const std::string without = j.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (const auto read = json::parse(without, {})) j["checksum"] = json::checksum_without(*read, {});
  return j.dump(-1, ' ', true, Json::error_handler_t::replace);
}

void check_evidence(std::string_view text) {
  check_one(text);
  if (const std::string fitting = sealed_evidence(text); !fitting.empty()) check_one(fitting);
}

}  // namespace gputopo::fuzz
