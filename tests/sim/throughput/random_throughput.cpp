#include "random_throughput.hpp"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "change_point/random.hpp"

namespace gputopo::throughput {

RandomThroughput random_throughput(std::uint64_t seed) {
  change_point::Random random(seed);
  const auto within = [&](double low, double high) { return low + random.uniform() * (high - low); };
  // As likely to be in any octave.
  const auto octaves = [&](double low, double high) { return low * std::pow(high / low, random.uniform()); };
  const auto power = [&](std::uint64_t low, std::uint64_t count) { return low << random.below(count); };
  const auto sometimes = [&](double value) { return random.below(2) == 0 ? value : 0; };
  RandomThroughput t{};
  t.sms = static_cast<std::uint32_t>(octaves(1, 300));
  t.clock_khz = static_cast<std::uint64_t>(octaves(2e5, 3e6));
  t.banks = static_cast<std::uint32_t>(power(8, 4));
  t.bank_bytes = static_cast<std::uint32_t>(power(2, 3));
  t.conflict = octaves(0.2, 20);
  const double row = t.banks * t.bank_bytes;
  t.shared_read = within(0.1, 1) * row;
  t.shared_write = within(0.1, 1) * row;
  t.shared_copy = within(0.1, 1) * row;
  t.l1_bytes = power(16384, 5);
  t.l1_line = power(32, 4);
  t.constant_bytes = power(1024, 4);
  t.behind_bytes = random.below(2) == 0 ? 0 : t.constant_bytes * power(4, 4);
  t.l2_line = power(32, 3);
  // Lanes at twice a row's distance have to fit.
  t.shared_bytes = std::max<std::uint64_t>(power(16384, 4), 64 * t.banks * t.bank_bytes);
  t.texture_is_l1 = random.below(2) == 0;
  // A cache smaller than what has to be on its way can't be read at its rate.
  t.l1_latency = octaves(10, 120);
  t.l1_read = octaves(8, std::min(400.0, static_cast<double>(t.l1_bytes) / 4 / t.l1_latency));
  t.texture_read = octaves(4, std::min(200.0, static_cast<double>(t.l1_bytes) / 6 / t.l1_latency));
  t.constant_read = octaves(0.5, 8);
  t.behind_read = t.constant_read * within(0.2, 0.9);
  t.l2_latency = octaves(130, 500);
  t.memory_latency = octaves(520, 1500);
  // Of an SM and cycle, so that no level needs more in flight than an SM has.
  const double scale = t.sms * static_cast<double>(t.clock_khz) / 1e6;
  t.memory_read = octaves(2, 30) * scale;
  t.memory_write = octaves(2, 30) * scale;
  t.memory_copy = octaves(2, 30) * scale;
  t.l2_read = octaves(32, 100) * scale;
  t.l2_same = t.l2_read * within(1.05, 3);
  const double on_the_way = t.l2_read / scale * t.l2_latency * t.sms;
  t.l2_bytes = std::uint64_t{1} << static_cast<std::uint32_t>(std::ceil(std::log2(on_the_way * octaves(8, 64))));
  t.l2_write = octaves(4, 60) * scale;
  t.l2_copy = octaves(4, 60) * scale;
  t.lines = static_cast<std::uint32_t>(1 + random.below(31));
  t.address = octaves(0.05, 4);
  t.line = t.address * within(2, 16);
  t.spread = t.line * within(4, 20);
  t.shared_address = octaves(0.05, 2);
  t.shared_spread = within(8, 30);
  t.to_device = octaves(1, 500);
  t.to_host = octaves(1, 500);
  t.noise = within(0, 0.003);
  // The widest accesses reach what the level gives; of 4 bytes some don't.
  t.l1_accesses = sometimes(t.l1_read / 512 * within(1.02, 8));
  t.gpu_accesses = sometimes(std::max({t.l2_same, t.l2_write, t.l2_copy}) / scale / 512 * within(1.02, 8));
  t.in_flight = sometimes(t.memory_read / scale * t.memory_latency * within(0.5, 4));
  return t;
}

double RandomThroughput::memory_waits() const {
  const double scale = sms * static_cast<double>(clock_khz) / 1e6;
  return in_flight == 0 ? 1e9 : std::floor(in_flight) / memory_latency * scale;
}

std::string model_text(const RandomThroughput& t) {
  using Json = nlohmann::ordered_json;
  const auto cache = [](std::uint64_t size, std::uint64_t line, int ways) {
    return Json{{"size", size}, {"line", line}, {"sector", 32}, {"ways", ways}};
  };
  const auto path = [](std::initializer_list<std::pair<const char*, double>> levels) {
    Json list = Json::array();
    for (const auto& [level, latency] : levels) list.push_back({{"level", level}, {"latency", latency}});
    return list;
  };
  // Accesses that are 0 are no limit.
  const auto limited = [](Json rates, double accesses, double in_flight = 0) {
    if (accesses > 0) rates["accesses"] = accesses;
    if (in_flight > 0) rates["in_flight"] = std::floor(in_flight);
    return rates;
  };
  Json m{
      {"schema", "gputopo-model/1"},
      {"gpu", {{"name", "Random throughput"}, {"sm_count", t.sms}, {"memory", "64 GiB"}, {"clock_khz", t.clock_khz}}}};
  Json& caches = m["caches"];
  caches["l1"] = cache(t.l1_bytes, t.l1_line, 4);
  if (!t.texture_is_l1) caches["texture"] = cache(t.l1_bytes, t.l1_line, 4);
  caches["constant"] = cache(t.constant_bytes, 64, 4);
  if (t.behind_bytes != 0) caches["behind"] = cache(t.behind_bytes, 64, 4);
  caches["l2"] = cache(t.l2_bytes, t.l2_line, 16);
  caches["l2"]["scope"] = "gpu";
  m["shared"] = {{"carve_outs", {t.shared_bytes}}, {"latency", 25}};
  const double behind = (t.l1_latency + t.l2_latency) / 2;
  m["paths"]["global_cached"] = path({{"l1", t.l1_latency}, {"l2", t.l2_latency}, {"device_memory", t.memory_latency}});
  m["paths"]["texture"] = path({{t.texture_is_l1 ? "l1" : "texture", t.l1_latency * 1.5},
                                {"l2", t.l2_latency * 1.5},
                                {"device_memory", t.memory_latency * 1.5}});
  m["paths"]["constant"] =
      t.behind_bytes != 0
          ? path({{"constant", t.l1_latency},
                  {"behind", behind},
                  {"l2", t.l2_latency},
                  {"device_memory", t.memory_latency}})
          : path({{"constant", t.l1_latency}, {"l2", t.l2_latency}, {"device_memory", t.memory_latency}});
  Json& throughput = m["throughput"];
  Json& levels = throughput["levels"];
  levels["l1"] = limited({{"read", t.l1_read}}, t.l1_accesses);
  levels["texture"] = {{"read", t.texture_read}};
  levels["constant_l1"] = {{"read", t.constant_read}};
  if (t.behind_bytes != 0) levels["constant_l1_5"] = {{"read", t.behind_read}};
  levels["shared"] = {{"read", t.shared_read}, {"write", t.shared_write}, {"copy", t.shared_copy}};
  levels["l2"] = limited({{"read", t.l2_read}, {"read_same", t.l2_same}, {"write", t.l2_write}, {"copy", t.l2_copy}},
                         t.gpu_accesses);
  levels["device_memory"] = limited({{"read", t.memory_read}, {"write", t.memory_write}, {"copy", t.memory_copy}},
                                    t.gpu_accesses, t.in_flight);
  levels["host_link"] = {{"read", t.to_device}, {"write", t.to_host}};
  throughput["banks"] = {{"count", t.banks}, {"bytes", t.bank_bytes}, {"conflict", t.conflict}};
  throughput["requests"] = {{"lines", t.lines}};
  throughput["atomics"] = {{"global", {{"address", t.address}, {"line", t.line}, {"spread", t.spread}}},
                           {"shared", {{"address", t.shared_address}, {"spread", t.shared_spread}}}};
  throughput["noise"] = t.noise;
  return m.dump();
}

}  // namespace gputopo::throughput
