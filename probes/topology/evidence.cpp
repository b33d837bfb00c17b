#include "topology/evidence.hpp"

#include <nlohmann/json.hpp>

#include "topology/json.hpp"
#include "topology/json_fields.hpp"

namespace gputopo {
namespace {

using namespace json;
using OrderedJson = nlohmann::ordered_json;

OrderedJson axis_json(const Axis& a) {
  OrderedJson j{{"label", a.label}, {"unit", a.unit}};
  if (a.logarithmic) j["logarithmic"] = true;
  return j;
}

Axis read_axis(const Json& j, const std::string& path) {
  const Json* logarithmic = optional_member(j, "logarithmic");
  return {as_string(member(j, path, "label"), path + "/label"), string_or_empty(j, path, "unit"),
          logarithmic != nullptr && as_bool(*logarithmic, path + "/logarithmic")};
}

Series read_series(const Json& j, const std::string& path) {
  Series s;
  s.label = as_string(member(j, path, "label"), path + "/label");
  const auto& xs = as_array(member(j, path, "x"), path + "/x");
  const auto& ys = as_array(member(j, path, "y"), path + "/y");
  if (xs.size() != ys.size()) bad(path, "has x and y of different lengths");
  for (std::size_t i = 0; i < xs.size(); ++i)
    s.points.emplace_back(as_double(xs[i], fmt::format("{}/x/{}", path, i)),
                          as_double(ys[i], fmt::format("{}/y/{}", path, i)));
  return s;
}

DecidingCurve read_curve(const Json& j, const std::string& path) {
  DecidingCurve c;
  c.memory = as_string(member(j, path, "memory"), path + "/memory");
  c.quantity = as_string(member(j, path, "quantity"), path + "/quantity");
  c.source = string_or_empty(j, path, "source");
  c.x = read_axis(member(j, path, "x"), path + "/x");
  c.y = read_axis(member(j, path, "y"), path + "/y");
  for (const Json& s : as_array(member(j, path, "series"), path + "/series"))
    c.series.push_back(read_series(s, fmt::format("{}/series/{}", path, c.series.size())));
  if (const Json* change = optional_member(j, "change")) c.change = as_double(*change, path + "/change");
  if (const Json* interval = optional_member(j, "interval")) {
    const auto& ends = as_array(*interval, path + "/interval");
    if (ends.size() != 2) bad(path + "/interval", "must have two numbers");
    c.interval = Interval{as_double(ends[0], path + "/interval/0"), as_double(ends[1], path + "/interval/1")};
    if (c.interval->low > c.interval->high) bad(path + "/interval", "its ends are the wrong way round");
  }
  return c;
}

}  // namespace

OrderedJson to_json(const Evidence& evidence) {
  OrderedJson j{{"schema", evidence_schema}, {"uuid", evidence.uuid}, {"created", evidence.created}};
  j["curves"] = OrderedJson::array();
  for (const DecidingCurve& c : evidence.curves) {
    OrderedJson& curve = j["curves"].emplace_back(OrderedJson{{"memory", c.memory},
                                                              {"quantity", c.quantity},
                                                              {"source", c.source},
                                                              {"x", axis_json(c.x)},
                                                              {"y", axis_json(c.y)}});
    if (c.change) curve["change"] = *c.change;
    if (c.interval) curve["interval"] = {c.interval->low, c.interval->high};
    for (const Series& s : c.series) {
      OrderedJson xs = OrderedJson::array(), ys = OrderedJson::array();
      for (const auto& [x, y] : s.points) xs.push_back(x), ys.push_back(y);
      curve["series"].push_back({{"label", s.label}, {"x", std::move(xs)}, {"y", std::move(ys)}});
    }
  }
  return j;
}

std::string to_json_text(const Evidence& evidence) {
  return to_json(evidence).dump(-1, ' ', true) + "\n";
}

Expected<Evidence> parse_evidence(std::string_view text) {
  const auto j = json::parse(text, {});
  if (!j) return tl::unexpected<Error>(j.error());
  try {
    if (as_string(member(*j, "", "schema"), "/schema") != evidence_schema)
      bad("/schema", fmt::format("must be \"{}\"", evidence_schema));
    Evidence evidence{string_or_empty(*j, "", "uuid"), string_or_empty(*j, "", "created"), {}};
    for (const Json& curve : as_array(member(*j, "", "curves"), "/curves"))
      evidence.curves.push_back(read_curve(curve, fmt::format("/curves/{}", evidence.curves.size())));
    return evidence;
  } catch (const BadField& bad_field) {
    return fail(Error::Kind::bad_input, bad_field.message);
  }
}

}  // namespace gputopo
