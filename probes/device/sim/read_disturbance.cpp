// Who else uses the GPU, and what its clock does meanwhile.
#include <fmt/format.h>

#include "device/sim/reader.hpp"

namespace gputopo::sim {
namespace {

constexpr Range microseconds{1, 1e9};

// Simulated time is cycles over the clock.
void need_clock(const std::string& path, const Model& model) {
  if (model.gpu.clock_khz == 0) refuse(path, "takes place in time, but the GPU has no clock", "add /gpu/clock_khz");
}

void read_neighbour(Fields& root, Model& model) {
  const Json* j = root.find("neighbour");
  if (j == nullptr) return;
  Fields fields(*j, root.at("neighbour"));
  NeighbourModel n;
  n.slice_us = {1990, 2020};
  n.away_us = {640, 2600};
  if (const Json* slice = fields.find("slice_us"))
    n.slice_us = read_span(*slice, fields.at("slice_us"), {10, microseconds.high});
  if (const Json* away = fields.find("away_us")) n.away_us = read_span(*away, fields.at("away_us"), microseconds);
  n.memory_share = fields.number("l2_share", {0, 1}, 0.5);
  fields.finish();
  need_clock(fields.path(), model);
  model.neighbour = n;
}

void read_tenant(Fields& root, Model& model) {
  const Json* j = root.find("tenant");
  if (j == nullptr) return;
  Fields fields(*j, root.at("tenant"));
  TenantModel t;
  const Range rate{0, 1e5};
  t.lines_per_us = fields.number("l2_lines_per_us", rate, 0);
  t.private_lines_per_us = fields.number("sm_lines_per_us", rate, 0);
  if (const Json* sms = fields.find("sms")) {
    const std::string path = fields.at("sms");
    if (!sms->is_array() || sms->empty())
      refuse(path, "is no list of SMs", "write a list such as [0, 1], or leave it out");
    for (const Json& sm : *sms)
      t.sms.push_back(
          static_cast<std::uint32_t>(read_count(sm, path, {0, static_cast<double>(model.gpu.sm_count) - 1})));
  }
  t.slow_share = fields.number("slow_share", {0, 1}, 0);
  if (const Json* cycles = fields.find("slow_cycles"))
    t.slow_cycles = read_span(*cycles, fields.at("slow_cycles"), {0, most_cycles});
  fields.finish();
  need_clock(fields.path(), model);
  model.tenant = std::move(t);
}

void read_clock(Fields& root, Model& model) {
  const Json* j = root.find("clock");
  if (j == nullptr) return;
  const std::string path = root.at("clock");
  need_clock(path, model);
  if (!j->is_array() || j->size() > 1000)
    refuse(path, "is no list of at most 1000 steps", "write a list such as [{\"at_us\": 5000, \"khz\": 1200000}]");
  for (std::size_t i = 0; i < j->size(); ++i) {
    Fields step((*j)[i], fmt::format("{}/{}", path, i));
    ClockStep s;
    s.at_us =
        read_number(step.require("at_us", "say when the clock changes"), step.at("at_us"), {0, microseconds.high});
    s.clock_khz = read_count(step.require("khz", "say to how many kHz"), step.at("khz"), {1000, 1e8});
    if (i > 0 && s.at_us <= model.clock_steps.back().at_us)
      refuse(step.at("at_us"), "isn't after the step before", "list the steps in the order of time");
    step.finish();
    model.clock_steps.push_back(s);
  }
}

}  // namespace

void read_disturbance(Fields& root, Model& model) {
  read_neighbour(root, model);
  read_tenant(root, model);
  read_clock(root, model);
}

}  // namespace gputopo::sim
