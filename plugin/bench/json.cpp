#include "topology/json.hpp"

#include <nlohmann/json.hpp>

#include "bench/render.hpp"

namespace gputopo::bench {
namespace {

using Json = nlohmann::ordered_json;

Json finding_json(const throughput::Finding& f) {
  Json j;
  j["memory"] = f.memory;
  j["quantity"] = f.quantity;
  const Json estimate = to_json(f.estimate);
  for (const auto& [key, value] : estimate.items()) j[key] = value;
  j["configuration"] = f.configuration;
  j["limit"] = f.limit ? Json(*f.limit) : Json(nullptr);
  if (f.bytes) j["bytes"] = {{"by_count", f.bytes->by_count}, {"by_counter", f.bytes->by_counter}};
  return j;
}

Json plot_json(const throughput::Plot& plot) {
  Json j;
  j["title"] = plot.title;
  j["x"] = plot.x_label;
  j["y"] = plot.y_label;
  j["logarithmic_x"] = plot.logarithmic_x;
  j["series"] = Json::array();
  for (const auto& series : plot.series) {
    Json points = Json::array();
    for (const auto& p : series.points) points.push_back({p.x, p.y, p.range.low, p.range.high});
    j["series"].push_back({{"label", series.label}, {"points", std::move(points)}});
  }
  return j;
}

}  // namespace

std::string render_json(const throughput::Report& report, const Options& /*options*/) {
  Topology run;  // for the members that both have
  run.provenance = report.provenance;
  run.gpu = report.gpu;
  const Json both = to_json(run);
  Json j;
  j["schema"] = "gputopo-bench/1";
  j["provenance"] = both.at("provenance");
  j["gpu"] = both.at("gpu");
  j["interrupted"] = report.interrupted;
  j["results"] = Json::array();
  for (const auto& result : report.results) {
    Json r;
    r["name"] = result.name;
    r["duration_s"] = result.duration_s;
    r["findings"] = Json::array();
    for (const auto& f : result.findings) r["findings"].push_back(finding_json(f));
    r["plots"] = Json::array();
    for (const auto& plot : result.plots) r["plots"].push_back(plot_json(plot));
    r["notes"] = result.notes;
    j["results"].push_back(std::move(r));
  }
  return json_text(j);
}

}  // namespace gputopo::bench
