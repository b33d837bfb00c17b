// What makes single loads differ: the kernel's own lines, jitter and outliers, places on the chip.
#include <cmath>

#include <fmt/format.h>

#include "device/sim/reader.hpp"

namespace gputopo::sim {
namespace {

void read_background(Fields& root, Model& model) {
  const Json* j = root.find("background");
  if (j == nullptr) return;
  Fields fields(*j, root.at("background"));
  model.background.constant_offset_bytes = fields.bytes("constant_offset", {0, 65536}, 0);
  model.background.constant_bytes = fields.bytes("constants", {0, 65536}, 0);
  model.background.code_bytes = fields.bytes("code", {0, 0x1p20}, 0);
  if (model.background.code_bytes != 0 && !model.execution)
    refuse(fields.at("code"), "there is no instruction path", "add /paths/instruction");
  if (model.background.constant_bytes != 0 && !model.path(program::Path::constant))
    refuse(fields.at("constants"), "there is no constant path", "add /paths/constant");
  fields.finish();
}

void read_noise(Fields& root, Model& model) {
  const Json* j = root.find("noise");
  if (j == nullptr) return;
  Fields fields(*j, root.at("noise"));
  NoiseModel& n = model.noise;
  if (const Json* jitter = fields.find("jitter"))
    n.jitter = read_choice<JitterKind>(
        *jitter, fields.at("jitter"),
        {{"none", JitterKind::none}, {"gaussian", JitterKind::gaussian}, {"uniform", JitterKind::uniform}});
  n.jitter_cycles = fields.number("cycles", {0, 10000}, n.jitter == JitterKind::none ? 0 : 1);
  if (n.jitter == JitterKind::uniform && std::floor(n.jitter_cycles) != n.jitter_cycles)
    refuse(fields.at("cycles"), "uniform jitter comes in whole cycles", "write a whole number");
  n.outlier_probability = fields.number("outlier_probability", {0, 1}, 0);
  if (const Json* cycles = fields.find("outlier_cycles"))
    n.outlier_cycles = read_span(*cycles, fields.at("outlier_cycles"), {0, most_cycles});
  n.seed = fields.count("seed", {}, 1);
  fields.finish();
}

void read_distance(Fields& root, Model& model) {
  const Json* j = root.find("distance");
  if (j == nullptr) return;
  Fields fields(*j, root.at("distance"));
  DistanceModel& d = model.distance;
  d.slice_bytes = fields.bytes("slice", {32, 0x1p30}, 128);
  d.slice_count = static_cast<std::uint32_t>(fields.count("count", {0, 4096}, 0));
  const Range range{0, 10000};
  d.partition_cycles = fields.number("partition", range, 0);
  d.gpc_cycles = fields.number("gpc", range, 0);
  d.cpc_cycles = fields.number("cpc", range, 0);
  d.tpc_cycles = fields.number("tpc", range, 0);
  d.sm_cycles = fields.number("sm", range, 0);
  d.slice_cycles = fields.number("slices", range, 0);
  d.steps = static_cast<std::uint32_t>(fields.count("steps", {0, 1024}, 0));
  if (d.steps == 1) refuse(fields.at("steps"), "one step is no difference", "write 2 or more, or 0 for any distance");
  for (const auto& [cycles, scope] :
       {std::pair{d.partition_cycles, Scope::partition}, std::pair{d.gpc_cycles, Scope::gpc},
        std::pair{d.cpc_cycles, Scope::cpc}, std::pair{d.tpc_cycles, Scope::tpc}})
    if (cycles != 0 && sm_groups(model, scope).empty())
      refuse(fields.at(to_string(scope)), "the model has no groups of that kind",
             fmt::format("add /groups/{}", to_string(scope)));
  fields.finish();
}

void read_rows(Fields& root, Model& model) {
  const Json* j = root.find("rows");
  if (j == nullptr) return;
  Fields fields(*j, root.at("rows"));
  RowModel rows;
  rows.size_bytes = read_bytes(fields.require("size", "write the bytes of a row"), fields.at("size"), {32, 0x1p30});
  rows.banks = static_cast<std::uint32_t>(fields.count("banks", {1, 65536}, 16));
  const double latency = model.path(program::Path::global_l2_only)->back().latency_cycles;
  rows.gain_cycles = read_number(fields.require("gain", "write the cycles that an open row saves"), fields.at("gain"),
                                 {0, latency / 2});
  fields.finish();
  model.rows = rows;
}

void read_refresh(Fields& root, Model& model) {
  const Json* j = root.find("refresh");
  if (j == nullptr) return;
  Fields fields(*j, root.at("refresh"));
  RefreshModel refresh;
  refresh.period_cycles =
      read_number(fields.require("period", "write the cycles from one to the next"), fields.at("period"), {1, 1e9});
  refresh.busy_cycles = read_number(fields.require("busy", "write the cycles that memory is busy"), fields.at("busy"),
                                    {0, refresh.period_cycles});
  fields.finish();
  model.refresh = refresh;
}

void read_tick(Fields& root, Model& model) {
  model.tick_cycles = root.number("tick", {0, 1000}, 0);
}

}  // namespace

Span read_span(const Json& j, const std::string& path, Range range) {
  if (!j.is_array()) {
    const double value = read_number(j, path, range);
    return {value, value};
  }
  if (j.size() != 2) refuse(path, "is neither a number nor two", "write a number, or [low, high]");
  const Span span{read_number(j[0], path + "/0", range), read_number(j[1], path + "/1", range)};
  if (span.high < span.low) refuse(path, "ends below its beginning", "write the lower number first");
  return span;
}

void read_variation(Fields& root, Model& model) {
  read_background(root, model);
  read_noise(root, model);
  read_distance(root, model);
  read_rows(root, model);
  read_refresh(root, model);
  read_tick(root, model);
}

}  // namespace gputopo::sim
