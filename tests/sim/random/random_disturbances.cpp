// What comes between a GPU and its measurement: jitter, strangers, other processes, a clock that changes.
#include "random_parts.hpp"

namespace gputopo::test {
namespace {

using Json = nlohmann::json;

Json span(Draw& draw, double low, double high) {
  const double a = std::round(draw.between(low, high));
  const double b = std::round(draw.between(low, high));
  return Json::array({std::min(a, b), std::max(a, b)});
}

void draw_noise(Drawn& d, std::uint64_t seed) {
  d.model["clock_overhead"] = {
      {"default", d.draw.below(40)}, {"constant", d.draw.below(40)}, {"texture", d.draw.below(40)}};
  const std::string jitter = d.draw.one_of<const char*>({"none", "gaussian", "uniform"});
  Json noise = {{"jitter", jitter}, {"seed", seed}};
  if (jitter == "uniform") noise["cycles"] = d.draw.whole(1, 3);
  if (jitter == "gaussian") noise["cycles"] = d.draw.cycles(0.5, 2);
  if (d.draw.chance(0.75)) {
    noise["outlier_probability"] = d.draw.scaled(1e-5, 0.05);
    noise["outlier_cycles"] = span(d.draw, 50, 600);
  }
  d.model["noise"] = noise;
}

void draw_clock(Drawn& d) {
  const auto khz = d.model["gpu"]["clock_khz"].get<std::uint32_t>();
  Json steps = Json::array();
  double at = 0;
  for (std::uint32_t i = d.draw.whole(1, 3); i > 0; --i) {
    at += std::round(d.draw.scaled(100, 20000));
    steps.push_back({{"at_us", at}, {"khz", std::round(khz * d.draw.between(0.5, 1))}});
  }
  d.model["clock"] = steps;
}

}  // namespace

void draw_disturbances(Drawn& d, std::uint64_t seed) {
  draw_noise(d, seed);
  const double which = d.draw.between(0, 1);
  if (which < 0.12)
    d.model["neighbour"] = {{"slice_us", span(d.draw, 1000, 4000)},
                            {"away_us", span(d.draw, 300, 2600)},
                            {"l2_share", d.draw.one_of({0.0, 0.25, 0.5, 1.0})}};
  else if (which < 0.22)
    d.model["tenant"] = {{"l2_lines_per_us", d.draw.chance(0.3) ? 0 : std::round(d.draw.scaled(1, 300))},
                         {"sm_lines_per_us", d.draw.chance(0.7) ? 0 : std::round(d.draw.scaled(1, 100))},
                         {"slow_share", d.draw.between(0, 0.4)},
                         {"slow_cycles", span(d.draw, 1, 100)}};
  if (d.draw.chance(0.08)) draw_clock(d);
}

}  // namespace gputopo::test
