// Built-in models with one value changed at random: refused in one line, or a GPU that runs.
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "device/sim/builtin.hpp"
#include "device/sim/random.hpp"
#include "tests/unit/sim/walks.hpp"

namespace gputopo::sim {
namespace {

using Json = nlohmann::json;

void collect(const Json& j, const Json::json_pointer& at, std::vector<Json::json_pointer>& leaves) {
  if (!j.is_structured() || j.empty()) {
    leaves.push_back(at);
    return;
  }
  leaves.push_back(at);
  if (j.is_object())
    for (const auto& [key, value] : j.items()) collect(value, at / key, leaves);
  else
    for (std::size_t i = 0; i < j.size(); ++i) collect(j[i], at / i, leaves);
}

Json odd_value(Random& random) {
  static const std::vector<Json> values{nullptr,
                                        true,
                                        "",
                                        "l1",
                                        "l2",
                                        "device_memory",
                                        "1 KiB",
                                        "3 MiB",
                                        "1e9 TiB",
                                        -1,
                                        0,
                                        1,
                                        2,
                                        3,
                                        7,
                                        8,
                                        64,
                                        100,
                                        128,
                                        4096,
                                        1000000,
                                        4294967296,
                                        1e18,
                                        0.5,
                                        -0.0,
                                        1e308,
                                        "gpu",
                                        "sm",
                                        "tpc",
                                        "random",
                                        "tree_plru",
                                        "hash",
                                        "xor",
                                        Json::array(),
                                        Json::object(),
                                        Json::array({1, 2}),
                                        Json::array({"l1"}),
                                        "uniform",
                                        24,
                                        18446744073709551615ULL};
  return values[random.below(static_cast<std::uint32_t>(values.size()))];
}

void run_every_path(device::Device& device) {
  const device::DeviceInfo& info = device.info();
  for (std::size_t i = 0; i < path_count; ++i) {
    const auto path = static_cast<Path>(i);
    const auto space = path == Path::constant      ? program::Space::constant
                       : path == Path::shared      ? program::Space::shared
                       : path == Path::instruction ? program::Space::code
                                                   : program::Space::global;
    auto p =
        program_of({walk(path, 4096, 64, Record::latencies, 2), walk(path, 4096, 32, Record::lap_time)}, 4096, space);
    p.agents = {{info.gpu.sm_count - 1, info.warps_per_block - 1}};
    const auto traces = device.run({p});
    if (traces) {
      EXPECT_EQ(traces->front().phases[0].latencies.size(), 64U);
    } else {
      EXPECT_THAT(traces.error().message, testing::Not(testing::HasSubstr("\n")));
    }
  }
  if (info.has_execute) {
    const auto executed = device.run({program_of({program::Execute{0, 1024, 1, true}}, 4)});
    EXPECT_TRUE(executed || executed.error().kind == Error::Kind::bad_input);
  }
}

TEST(MutatedModels, AreRefusedInOneLineOrRun) {
  Random random(2024);
  int accepted = 0;
  int refused = 0;
  for (std::size_t m = 0; m < builtin_models().size(); ++m) {
    const std::string_view name = builtin_models()[m];
    const Json original = Json::parse(builtin_model_texts()[m]);
    std::vector<Json::json_pointer> places;
    collect(original, Json::json_pointer(), places);
    for (int i = 0; i < 400; ++i) {
      Json mutant = original;
      const auto& place = places[random.below(static_cast<std::uint32_t>(places.size()))];
      mutant[place] = odd_value(random);
      const auto model = parse_model(mutant.dump(), name);
      if (!model) {
        ++refused;
        EXPECT_EQ(model.error().kind, Error::Kind::bad_input);
        EXPECT_THAT(model.error().message, testing::Not(testing::HasSubstr("\n")));
        continue;
      }
      ++accepted;
      EXPECT_EQ(truth(*model).memories.size(), 8U);
      const auto device = make_device(*model);
      run_every_path(*device);
    }
  }
  EXPECT_GT(accepted, 200);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace gputopo::sim
