#include "topology/evidence.hpp"

#include <cmath>

#include <nlohmann/json.hpp>

#include "topology/json.hpp"
#include "topology/json_fields.hpp"

namespace gputopo {
namespace {

using namespace json;
using OrderedJson = nlohmann::ordered_json;

// Half as long where nothing is behind the point.
OrderedJson short_number(double value) {
  constexpr double exact = 9007199254740992;  // 2^53
  if (std::fabs(value) <= exact && value == std::floor(value)) return static_cast<std::int64_t>(value);
  return value;
}

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

// More than a discovery has; what is beyond them would only keep a page busy. 8 columns of 4096 SMs are 32,768 points.
constexpr int evidence_depth = 6;  // the format itself nests 5 deep
constexpr std::size_t most_curves = 1024, most_series_of_one = 64, most_points = std::size_t{1} << 18;
constexpr double largest_number = 1e18;  // sizes, cycles and rates are far below

double as_drawable(const Json& j, const std::string& path) {
  const double value = as_double(j, path);
  if (std::fabs(value) > largest_number) bad(path, "is too large");
  return value;
}

Series read_series(const Json& j, const std::string& path, std::size_t& points) {
  Series s;
  s.label = as_string(member(j, path, "label"), path + "/label");
  const auto& xs = as_array(member(j, path, "x"), path + "/x");
  const auto& ys = as_array(member(j, path, "y"), path + "/y");
  if (xs.size() != ys.size()) bad(path, "has x and y of different lengths");
  points += xs.size();
  if (points > most_points) bad(path, fmt::format("is one too many: {} points are the most", most_points));
  for (std::size_t i = 0; i < xs.size(); ++i) {
    s.points.emplace_back(as_drawable(xs[i], fmt::format("{}/x/{}", path, i)),
                          as_drawable(ys[i], fmt::format("{}/y/{}", path, i)));
    if (i > 0 && s.points[i].first < s.points[i - 1].first) bad(fmt::format("{}/x/{}", path, i), "is out of order");
  }
  return s;
}

DecidingCurve read_curve(const Json& j, const std::string& path, std::size_t& points) {
  DecidingCurve c;
  c.memory = as_string(member(j, path, "memory"), path + "/memory");
  c.quantity = as_string(member(j, path, "quantity"), path + "/quantity");
  c.source = string_or_empty(j, path, "source");
  c.method = string_or_empty(j, path, "method");
  c.programs = unsigned_or_zero<std::uint64_t>(j, path, "programs");
  c.x = read_axis(member(j, path, "x"), path + "/x");
  c.y = read_axis(member(j, path, "y"), path + "/y");
  const auto& all = as_array(member(j, path, "series"), path + "/series");
  if (all.size() > most_series_of_one) bad(path + "/series", fmt::format("{} are the most", most_series_of_one));
  for (const Json& s : all)
    c.series.push_back(read_series(s, fmt::format("{}/series/{}", path, c.series.size()), points));
  if (const Json* change = optional_member(j, "change")) c.change = as_drawable(*change, path + "/change");
  if (const Json* interval = optional_member(j, "interval")) {
    const auto& ends = as_array(*interval, path + "/interval");
    if (ends.size() != 2) bad(path + "/interval", "must have two numbers");
    c.interval = Interval{as_drawable(ends[0], path + "/interval/0"), as_drawable(ends[1], path + "/interval/1")};
    if (c.interval->low > c.interval->high) bad(path + "/interval", "its ends are the wrong way round");
  }
  return c;
}

}  // namespace

OrderedJson to_json(const Evidence& evidence) {
  OrderedJson j{{"schema", evidence_schema}, {"uuid", evidence.uuid}, {"created", evidence.created}};
  j["curves"] = OrderedJson::array();
  for (const DecidingCurve& c : evidence.curves) {
    OrderedJson& curve =
        j["curves"].emplace_back(OrderedJson{{"memory", c.memory}, {"quantity", c.quantity}, {"source", c.source}});
    if (!c.method.empty()) curve["method"] = c.method;
    if (c.programs != 0) curve["programs"] = c.programs;
    curve["x"] = axis_json(c.x);
    curve["y"] = axis_json(c.y);
    if (c.change) curve["change"] = short_number(*c.change);
    if (c.interval) curve["interval"] = {short_number(c.interval->low), short_number(c.interval->high)};
    for (const Series& s : c.series) {
      OrderedJson xs = OrderedJson::array(), ys = OrderedJson::array();
      for (const auto& [x, y] : s.points) xs.push_back(short_number(x)), ys.push_back(short_number(y));
      curve["series"].push_back({{"label", s.label}, {"x", std::move(xs)}, {"y", std::move(ys)}});
    }
  }
  if (const auto read =
          json::parse(j.dump(-1, ' ', true, OrderedJson::error_handler_t::replace), {.depth = evidence_depth}))
    j["checksum"] = checksum_without(*read, {});
  return j;
}

std::string to_json_text(const Evidence& evidence) {
  return to_json(evidence).dump(-1, ' ', true, OrderedJson::error_handler_t::replace) + "\n";
}

Expected<Evidence> parse_evidence(std::string_view text) {
  const auto refused = [](const std::string& why) {
    return fail(Error::Kind::bad_input, "not gputopo evidence: " + why);
  };
  const auto j = json::parse(text, {.depth = evidence_depth});
  if (!j) return refused("it " + j.error().message);
  try {
    if (as_string(member(*j, "", "schema"), "/schema") != evidence_schema)
      bad("/schema", fmt::format("must be '{}'", evidence_schema));
    Evidence evidence{string_or_empty(*j, "", "uuid"), string_or_empty(*j, "", "created"), {}};
    const auto& curves = as_array(member(*j, "", "curves"), "/curves");
    if (curves.size() > most_curves) bad("/curves", fmt::format("{} are the most", most_curves));
    std::size_t points = 0;
    for (const Json& curve : curves)
      evidence.curves.push_back(read_curve(curve, fmt::format("/curves/{}", evidence.curves.size()), points));
    if (as_string(member(*j, "", "checksum"), "/checksum") != checksum_without(*j, "checksum"))
      bad("/checksum", "doesn't fit, so the file was altered or damaged");
    return evidence;
  } catch (const BadField& e) {
    return refused(e.message);
  }
}

}  // namespace gputopo
