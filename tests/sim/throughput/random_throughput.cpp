#include "random_throughput.hpp"

#include <cmath>

#include <fmt/format.h>

#include "change_point/random.hpp"

namespace gputopo::throughput {

RandomThroughput random_throughput(std::uint64_t seed) {
  change_point::Random random(seed);
  const auto within = [&](double low, double high) { return low + random.uniform() * (high - low); };
  const auto power = [&](std::uint32_t low, std::uint32_t count) {
    return low << static_cast<std::uint32_t>(random.below(count));
  };
  RandomThroughput t{};
  t.sms = static_cast<std::uint32_t>(2 + random.below(150));
  t.clock_khz = 800000 + random.below(1400000);
  t.banks = power(16, 3);
  t.bank_bytes = power(4, 2);
  t.conflict = within(0.5, 4);
  const double row = t.banks * t.bank_bytes;
  t.shared_read = within(0.3, 1) * row;
  t.shared_write = within(0.3, 1) * row;
  t.shared_copy = within(0.3, 1) * row;
  t.l1_read = within(30, 250);
  t.texture_read = within(15, 120);
  t.constant_read = within(0.5, 8);
  t.l1_latency = within(20, 90);
  t.l2_latency = within(150, 400);
  t.memory_latency = within(420, 900);
  // Of an SM and cycle, so that no level needs more in flight than an SM has.
  const double scale = t.sms * static_cast<double>(t.clock_khz) / 1e6;
  t.memory_read = within(5, 25) * scale;
  t.memory_write = within(5, 25) * scale;
  t.memory_copy = within(5, 25) * scale;
  t.l2_read = within(26, 70) * scale;
  t.l2_same = t.l2_read * within(1.1, 2);
  t.l2_write = within(10, 40) * scale;
  t.l2_copy = within(10, 40) * scale;
  t.lines = static_cast<std::uint32_t>(1 + random.below(31));
  t.address = within(0.2, 2);
  t.line = t.address * within(2, 16);
  t.spread = t.line * within(4, 20);
  t.shared_address = within(0.2, 2);
  t.shared_spread = within(8, 30);
  t.to_device = within(5, 60);
  t.to_host = within(5, 60);
  t.noise = within(0, 0.002);
  return t;
}

std::string model_text(const RandomThroughput& t) {
  constexpr const char* text = R"({{"schema": "gputopo-model/1",
  "gpu": {{"name": "Random throughput", "sm_count": {}, "memory": "32 GiB", "clock_khz": {}}},
  "caches": {{"l1": {{"size": "96 KiB", "line": 128, "sector": 32, "ways": 4}},
             "constant": {{"size": "2 KiB", "line": 64, "ways": 4}},
             "l2": {{"size": "8 MiB", "line": 128, "sector": 32, "ways": 16, "scope": "gpu"}}}},
  "shared": {{"carve_outs": ["48 KiB"], "latency": 25}},
  "paths": {{"global_cached": [{{"level": "l1", "latency": {}}}, {{"level": "l2", "latency": {}}},
                              {{"level": "device_memory", "latency": {}}}],
            "texture": [{{"level": "l1", "latency": 90}}, {{"level": "l2", "latency": 410}},
                        {{"level": "device_memory", "latency": 920}}],
            "constant": [{{"level": "constant", "latency": 30}}, {{"level": "l2", "latency": 410}},
                         {{"level": "device_memory", "latency": 920}}]}},
  "throughput": {{
    "levels": {{"l1": {{"read": {}}}, "texture": {{"read": {}}}, "constant_l1": {{"read": {}}},
               "shared": {{"read": {}, "write": {}, "copy": {}}},
               "l2": {{"read": {}, "read_same": {}, "write": {}, "copy": {}}},
               "device_memory": {{"read": {}, "write": {}, "copy": {}}},
               "host_link": {{"read": {}, "write": {}}}}},
    "banks": {{"count": {}, "bytes": {}, "conflict": {}}},
    "requests": {{"lines": {}}},
    "atomics": {{"global": {{"address": {}, "line": {}, "spread": {}}}, "shared": {{"address": {}, "spread": {}}}}},
    "noise": {}}}}})";
  return fmt::format(text, t.sms, t.clock_khz, t.l1_latency, t.l2_latency, t.memory_latency, t.l1_read, t.texture_read,
                     t.constant_read, t.shared_read, t.shared_write, t.shared_copy, t.l2_read, t.l2_same, t.l2_write,
                     t.l2_copy, t.memory_read, t.memory_write, t.memory_copy, t.to_device, t.to_host, t.banks,
                     t.bank_bytes, t.conflict, t.lines, t.address, t.line, t.spread, t.shared_address, t.shared_spread,
                     t.noise);
}

}  // namespace gputopo::throughput
